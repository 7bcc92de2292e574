// Rate limiters of Go, asked as bench/peers/README.md says.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

// limit is count in each period, and burst at once.
type limit struct {
	count  int
	period time.Duration
	burst  int
}

func (l limit) perSecond() rate.Limit {
	return rate.Limit(float64(l.count) / l.period.Seconds())
}

var (
	plenty = limit{10, time.Second, 1e9}
	closed = limit{1, 24 * time.Hour, 1}
	ten    = limit{1, 24 * time.Hour, 10}
	swift  = limit{1e5, time.Second, 1e5}
	paced  = limit{1e5, time.Second, 100}
)

// subject is a library as one uses it: take answers at once, wait returns when it may act.
type subject struct {
	library   string
	clock     string
	keys      []int
	questions []string
	take      func(limit) func(key uint64) bool
	wait      func(limit) func()
}

func subjects() []subject {
	one, many := []int{1}, []int{1, 100000}
	hot := []string{"allow", "deny", "accuracy", "wakeup"}
	keyed := []string{"allow", "deny", "bytes"}
	quick := []string{"allow", "deny"}
	return []subject{
		{"time.Now", "none", one, []string{"allow"}, readTheClock, nil},
		{"x/time/rate", "default", one, hot, allow, waitForToken},
		{"x/time/rate", "given", one, quick, allowAt, nil},
		{"x/time/rate, map+Mutex", "default", many, keyed, inMap(allow1), nil},
		{"x/time/rate, map+Mutex", "given", many, quick, inMap(allowAt1()), nil},
		{"x/time/rate, sync.Map", "default", many, keyed, inSyncMap(allow1), nil},
		{"x/time/rate, sync.Map", "given", many, quick, inSyncMap(allowAt1()), nil},
		{"uber/ratelimit", "default", one, []string{"allow", "wakeup"}, uberTake, uberWait()},
		{"uber/ratelimit slack 100", "default", one, []string{"wakeup"}, nil,
			uberWait(ratelimit.WithSlack(100))},
	}
}

func readTheClock(limit) func(uint64) bool {
	start := time.Now()
	return func(uint64) bool { return !time.Now().Before(start) }
}

func allow(l limit) func(uint64) bool {
	limiter := rate.NewLimiter(l.perSecond(), l.burst)
	return func(uint64) bool { return limiter.Allow() }
}

func allowAt(l limit) func(uint64) bool {
	limiter := rate.NewLimiter(l.perSecond(), l.burst)
	now := time.Now()
	return func(uint64) bool { return limiter.AllowN(now, 1) }
}

func allow1(limiter *rate.Limiter) bool { return limiter.Allow() }

func allowAt1() func(*rate.Limiter) bool {
	now := time.Now()
	return func(limiter *rate.Limiter) bool { return limiter.AllowN(now, 1) }
}

func waitForToken(l limit) func() {
	limiter := rate.NewLimiter(l.perSecond(), l.burst)
	return func() {
		if err := limiter.Wait(context.Background()); err != nil {
			fail("Wait: %v", err)
		}
	}
}

func inMap(ask func(*rate.Limiter) bool) func(limit) func(uint64) bool {
	return func(l limit) func(uint64) bool {
		var mutex sync.Mutex
		limiters := make(map[uint64]*rate.Limiter)
		return func(key uint64) bool {
			mutex.Lock()
			limiter, known := limiters[key]
			if !known {
				limiter = rate.NewLimiter(l.perSecond(), l.burst)
				limiters[key] = limiter
			}
			mutex.Unlock()
			return ask(limiter)
		}
	}
}

func inSyncMap(ask func(*rate.Limiter) bool) func(limit) func(uint64) bool {
	return func(l limit) func(uint64) bool {
		var limiters sync.Map
		return func(key uint64) bool {
			limiter, known := limiters.Load(key)
			if !known {
				limiter, _ = limiters.LoadOrStore(key, rate.NewLimiter(l.perSecond(), l.burst))
			}
			return ask(limiter.(*rate.Limiter))
		}
	}
}

// uberTake never sleeps: it has no burst, so plenty is a slot each nanosecond.
func uberTake(limit) func(uint64) bool {
	limiter := ratelimit.New(1e9)
	return func(uint64) bool { return !limiter.Take().IsZero() }
}

func uberWait(options ...ratelimit.Option) func(limit) func() {
	return func(l limit) func() {
		limiter := ratelimit.New(l.count, append(options, ratelimit.Per(l.period))...)
		return func() { limiter.Take() }
	}
}

// check fails unless the answers are right: then there is no use in their time.
func (s subject) check() {
	if s.library == "time.Now" {
		return
	}
	if s.library[:4] == "uber" {
		wait, start := s.wait(limit{1000, time.Second, 1}), time.Now()
		for range 21 {
			wait()
		}
		if took := time.Since(start); took < 19*time.Millisecond {
			fail("21 calls at 1000/s took %v", took)
		}
		return
	}
	take, granted := s.take(ten), 0
	for range 20 {
		if take(1) {
			granted++
		}
	}
	if granted != 10 {
		fail("burst 10: granted %d of 20", granted)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "adapter: "+format+"\n", values...)
	os.Exit(1)
}

func say(fields map[string]any) {
	line, _ := json.Marshal(fields)
	fmt.Println(string(line))
}

// mix makes a random number of a counter.
func mix(number uint64) uint64 {
	number += 0x9e3779b97f4a7c15
	number = (number ^ number>>30) * 0xbf58476d1ce4e5b9
	number = (number ^ number>>27) * 0x94d049bb133111eb
	return number ^ number>>31
}

const (
	asked  = 1 << 17 // keys in the order in which they are asked for
	slices = 20      // of time, so short that some are not interrupted
)

func keysInRandomOrder(keys int) []uint64 {
	order := make([]uint64, asked)
	for at := range order {
		order[at] = mix(mix(uint64(at)) % uint64(keys))
	}
	return order
}

// slice returns nanoseconds a call while so many threads ask for so long.
func slice(take func(uint64) bool, order []uint64, threads int, length time.Duration,
	wanted bool) float64 {
	var ready, done sync.WaitGroup
	var calls, nanoseconds atomic.Int64
	ready.Add(threads)
	for thread := range threads {
		done.Add(1)
		go func() {
			defer done.Done()
			ready.Done()
			ready.Wait()
			at, made := thread*asked/2, 0
			start := time.Now()
			for time.Since(start) < length {
				for range 1024 {
					if take(order[at&(asked-1)]) != wanted {
						fail("a call was answered %v", !wanted)
					}
					at++
				}
				made += 1024
			}
			nanoseconds.Add(int64(time.Since(start)))
			calls.Add(int64(made))
		}()
	}
	done.Wait()
	return float64(nanoseconds.Load()) / float64(calls.Load())
}

func (s subject) speed(question string, keys int, length time.Duration) {
	wanted, l := true, plenty
	if question == "deny" {
		wanted, l = false, closed
	}
	take, order := s.take(l), keysInRandomOrder(keys)
	for key := range keys {
		take(mix(uint64(key)))
		take(mix(uint64(key)))
	}
	slice(take, order, 1, 10*length, wanted) // to warm up
	for _, threads := range []int{1, 2} {
		for range slices {
			say(map[string]any{"library": s.library, "question": question, "threads": threads,
				"keys": keys, "clock": s.clock,
				"ns": slice(take, order, threads, length, wanted)})
		}
	}
}

// crowd has many callers ask for so long, and tells what they got and what the limit allows.
func (s subject) crowd(question string, threads int, l limit, length time.Duration) {
	var once func() bool
	var stop atomic.Bool
	var admitted atomic.Int64
	var ready, done sync.WaitGroup
	open := make(chan struct{})
	ready.Add(threads)
	done.Add(threads)
	for range threads {
		go func() {
			defer done.Done()
			ready.Done()
			<-open
			granted := int64(0)
			for !stop.Load() {
				if once() {
					granted++
				}
			}
			admitted.Add(granted)
		}()
	}
	ready.Wait()
	start := time.Now()
	if question == "wakeup" {
		wait := s.wait(l)
		once = func() bool { wait(); return true }
	} else {
		take := s.take(l)
		once = func() bool { return take(1) }
	}
	close(open)
	time.Sleep(length)
	stop.Store(true)
	done.Wait()
	allowed := float64(l.burst) + float64(l.perSecond())*time.Since(start).Seconds()
	say(map[string]any{"library": s.library, "question": question, "threads": threads,
		"keys": 1, "clock": s.clock, "admitted": admitted.Load(), "allowed": allowed})
}

func (s subject) bytes() {
	const keys = 1000000
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before, take := heap(), s.take(closed)
	for key := range uint64(keys) {
		take(mix(key))
	}
	grown := heap() - before
	take(1)
	say(map[string]any{"library": s.library, "question": "bytes", "keys": keys,
		"clock": s.clock, "bytes": float64(grown) / keys})
}

func main() {
	if len(os.Args) == 1 {
		for _, s := range subjects() {
			say(map[string]any{"library": s.library, "clock": s.clock, "keys": s.keys,
				"questions": s.questions})
		}
		return
	}
	if len(os.Args) < 6 {
		fail("usage: adapter [LIBRARY CLOCK KEYS MILLISECONDS QUESTION...]")
	}
	keys, _ := strconv.Atoi(os.Args[3])
	milliseconds, _ := strconv.Atoi(os.Args[4])
	length := time.Duration(milliseconds) * time.Millisecond
	for _, s := range subjects() {
		if s.library != os.Args[1] || s.clock != os.Args[2] {
			continue
		}
		s.check()
		for _, question := range os.Args[5:] {
			switch question {
			case "allow", "deny":
				s.speed(question, keys, length)
			case "accuracy":
				for _, threads := range []int{8, 64, 512} {
					s.crowd(question, threads, swift, length)
				}
			case "wakeup":
				for _, threads := range []int{1, 8} {
					s.crowd(question, threads, paced, length)
				}
			case "bytes":
				s.bytes()
			}
		}
		return
	}
	fail("there is no %s with the clock %s", os.Args[1], os.Args[2])
}
