// go-redis: clients PORT RECORDED_PORT (see package_clients_test.py).
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	nothing = context.Background()
	driver  = bufio.NewReader(os.Stdin)
)

func check(holds bool, format string, values ...any) {
	if !holds {
		log.Panicf(format, values...)
	}
}

// Opened as an application does: a name, database 0, a small pool.
func open(port string, protocol int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:" + port, Protocol: protocol, ClientName: "worker", DB: 0, PoolSize: 4,
	})
}

func call(client *redis.Client, words ...any) any {
	reply, err := client.Do(nothing, words...).Result()
	check(err == nil || err == redis.Nil, "%v: %v", words, err)
	return reply
}

// An answer by name: a map in RESP3, names and values in turn in RESP2.
func fields(protocol int, reply any) map[string]any {
	named := map[string]any{}
	if protocol == 3 {
		for name, value := range reply.(map[any]any) {
			named[name.(string)] = value
		}
		return named
	}
	flat := reply.([]any)
	for at := 0; at < len(flat); at += 2 {
		named[flat[at].(string)] = flat[at+1]
	}
	return named
}

func limits(client *redis.Client, key string, protocol int) {
	ask := func(words ...any) map[string]any { return fields(protocol, call(client, words...)) }
	throttled := call(client, "CL.THROTTLE", key, 15, 30, 60)
	expected := []any{int64(0), int64(16), int64(15), int64(-1), int64(2)}
	check(reflect.DeepEqual(throttled, expected), "CL.THROTTLE: %v", throttled)
	granted := ask("WEIR.TAKE", key, "2/1m", "COST", 2)
	check(granted["verdict"] == "granted" && granted["remaining"] == int64(0), "%v", granted)
	denied := ask("WEIR.PEEK", key, "2/1m")
	check(denied["verdict"] == "denied" && denied["grant"] == nil, "%v", denied)
	check(denied["retry_after_us"].(int64) > 20_000_000, "%v", denied)
	impossible := ask("WEIR.TAKE", key, "2/1m", "COST", 3)
	check(impossible["verdict"] == "impossible", "%v", impossible)
	deferred := ask("WEIR.TAKE", key, "2/1m", "PATIENCE", 60_000)
	check(deferred["verdict"] == "deferred", "%v", deferred)
	back := call(client, "WEIR.CANCEL", key, "2/1m", deferred["grant"])
	check(back == int64(1), "CANCEL: %v", back)
	back = call(client, "WEIR.REFUND", key, "2/1m", 1, "ID", "order-17")
	check(back == int64(1), "REFUND: %v", back)
	back = call(client, "WEIR.RESET", key, "2/1m")
	check(back == int64(1), "RESET: %v", back)
	both := ask("WEIR.TAKEALL", 2, key, "acme", "1/1m", "100/1s")
	check(both["key"] == key && len(both["grant"].([]any)) == 2, "%v", both)
}

type pipelined func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error)

// Takes twice as often as a new key has units.
func halfGranted(run pipelined, key string, units int, protocol int) {
	commands, err := run(nothing, func(pipe redis.Pipeliner) error {
		for at := 0; at < 2*units; at++ {
			pipe.Do(nothing, "WEIR.TAKE", key, fmt.Sprintf("%d/1h", units))
		}
		return nil
	})
	check(err == nil && len(commands) == 2*units, "%v", err)
	for at, command := range commands {
		verdict := fields(protocol, command.(*redis.Cmd).Val())["verdict"]
		check((verdict == "granted") == (at < units), "%d: %v", at, verdict)
	}
}

func refusals(client *redis.Client) {
	refused := func(err error, part string) {
		var reply redis.Error
		check(errors.As(err, &reply) && strings.Contains(err.Error(), part), "%v", err)
	}
	refused(client.Get(nothing, "key").Err(), "unknown command 'get'; this server limits rates with")
	refused(client.Do(nothing, "WEIR.TAKE", "key", "5/1x").Err(), "column 3: expected a period")
	refused(client.Do(nothing, "SELECT", 1).Err(), "one database")
	check(client.Ping(nothing).Val() == "PONG", "no answer after an error")
}

// The driver starts the server anew; calls may fail meanwhile, but soon they are answered.
func restart(client *redis.Client) {
	fmt.Println("restart")
	_, err := driver.ReadString('\n')
	check(err == nil, "the driver has gone: %v", err)
	deadline := time.Now().Add(10 * time.Second)
	for client.Do(nothing, "WEIR.TAKE", "after", "1/1us").Err() != nil {
		check(time.Now().Before(deadline), "no answer after the restart")
		time.Sleep(20 * time.Millisecond)
	}
}

func main() {
	for _, protocol := range []int{2, 3} {
		name := fmt.Sprintf("go-redis 9, RESP%d", protocol)
		recorded := open(os.Args[2], protocol)
		call(recorded, "WEIR.TAKE", "connect", "1/1m")
		recorded.Close()
		fmt.Println("sent", name)
		client := open(os.Args[1], protocol)
		limits(client, name, protocol)
		halfGranted(client.Pipelined, name, 500, protocol)
		halfGranted(client.TxPipelined, name, 2, protocol)
		refusals(client)
		restart(client)
		client.Close()
		fmt.Println("passed", name)
	}
}
