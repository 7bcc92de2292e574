// Waits for leave to act: go run take.go PORT KEY LIMIT
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

type Denied struct{ RetryAfter time.Duration }

func (denied Denied) Error() string { return fmt.Sprintf("denied; again in %v", denied.RetryAfter) }

func take(ctx context.Context, client *redis.Client, key, limit string) error {
	reply, err := client.Do(ctx, "WEIR.TAKE", key, limit).Result()
	if err != nil {
		return err
	}
	answer := reply.(map[any]any)
	span := func(name string) time.Duration {
		return time.Duration(answer[name].(int64)) * time.Microsecond
	}
	if answer["verdict"] == "denied" || answer["verdict"] == "impossible" {
		return Denied{span("retry_after_us")}
	}
	time.Sleep(span("ready_after_us")) // 0 where granted; deferred: taken, act then
	return nil
}

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1], Protocol: 3})
	if err := take(context.Background(), client, os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
	fmt.Println("act")
}
