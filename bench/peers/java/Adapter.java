// Rate limiters of Java, asked as bench/peers/README.md says.
import com.google.common.util.concurrent.RateLimiter;
import com.netflix.concurrency.limits.limit.FixedLimit;
import com.netflix.concurrency.limits.limit.Gradient2Limit;
import com.netflix.concurrency.limits.limit.VegasLimit;
import com.netflix.concurrency.limits.limit.WindowedLimit;
import com.netflix.concurrency.limits.limiter.SimpleLimiter;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.TimeMeter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.LongPredicate;
import java.util.function.Predicate;

final class Adapter {
  /** So many in each period, and burst at once. */
  record Limit(int count, Duration period, int burst) {
    double perSecond() {
      return count / (period.toNanos() * 1e-9);
    }
  }

  static final Limit PLENTY = new Limit(10, Duration.ofSeconds(1), 1_000_000_000);
  static final Limit CLOSED = new Limit(1, Duration.ofDays(1), 1);
  static final Limit TEN = new Limit(1, Duration.ofDays(1), 10);
  static final Limit SWIFT = new Limit(100_000, Duration.ofSeconds(1), 100_000);
  static final Limit PACED = new Limit(100_000, Duration.ofSeconds(1), 100);

  interface Wait {
    void once() throws InterruptedException;
  }

  /** A library as one uses it: take answers at once, acquire waits until it may act. */
  record Subject(String library, String clock, List<Integer> keys, int grantsOfTen,
      List<String> questions, Function<Limit, LongPredicate> take, Function<Limit, Wait> acquire) {
    boolean startsEmpty() {
      return grantsOfTen == 1;
    }
  }

  static final List<Integer> ONE = List.of(1);
  static final List<Integer> MANY = List.of(1, 100_000);
  static final List<String> QUICK = List.of("allow", "deny");
  static final List<String> HOT = List.of("allow", "deny", "accuracy", "wakeup");
  static final List<String> KEYED = List.of("allow", "deny", "bytes");
  static final List<String> GATE = List.of("enter", "refuse");

  // Guava starts empty, and the first call takes on credit.
  static final List<Subject> SUBJECTS = List.of(
      new Subject("System.nanoTime", "none", ONE, 20, List.of("allow"), Adapter::clock, null),
      new Subject("Guava", "default", ONE, 1, HOT, direct(Adapter::guava, RateLimiter::tryAcquire),
          limit -> waiting(guava(limit), RateLimiter::acquire)),
      new Subject("Guava, CHM", "default", MANY, 1, KEYED,
          keyed(Adapter::guava, RateLimiter::tryAcquire), null),
      new Subject("bucket4j", "default", ONE, 10, HOT,
          direct(limit -> bucket(limit, TimeMeter.SYSTEM_NANOTIME), bucket -> bucket.tryConsume(1)),
          limit -> waiting(bucket(limit, TimeMeter.SYSTEM_NANOTIME).asBlocking(),
              bucket -> bucket.consume(1))),
      new Subject("bucket4j", "given", ONE, 10, QUICK,
          direct(limit -> bucket(limit, new Given()), bucket -> bucket.tryConsume(1)), null),
      new Subject("bucket4j, CHM", "default", MANY, 10, KEYED,
          keyed(limit -> bucket(limit, TimeMeter.SYSTEM_NANOTIME), bucket -> bucket.tryConsume(1)),
          null),
      new Subject("bucket4j, CHM", "given", MANY, 10, QUICK,
          keyed(limit -> bucket(limit, new Given()), bucket -> bucket.tryConsume(1)), null),
      new Subject("resilience4j", "default", ONE, 10, HOT,
          direct(Adapter::atomic, AtomicRateLimiter::acquirePermission),
          limit -> waiting(patient(limit), limiter -> {
            if (!limiter.acquirePermission(1)) throw new IllegalStateException("gave up");
          })),
      new Subject("resilience4j, CHM", "default", MANY, 10, KEYED,
          keyed(Adapter::atomic, AtomicRateLimiter::acquirePermission), null),
      new Subject("AtomicLong, two increments", "none", ONE, 20, List.of("enter"),
          Adapter::increments, null),
      new Subject("Semaphore", "none", ONE, 20, GATE, Adapter::semaphore, null),
      new Subject("SimpleLimiter, FixedLimit", "default", ONE, 20, GATE,
          limit -> netflix(FixedLimit.of(places(limit))), null),
      new Subject("SimpleLimiter, Gradient2Limit", "default", ONE, 20, GATE,
          limit -> netflix(gradient2(limit)), null),
      new Subject("SimpleLimiter, VegasLimit", "default", ONE, 20, GATE,
          limit -> netflix(VegasLimit.newBuilder().initialLimit(places(limit)).build()), null));

  static LongPredicate clock(Limit limit) {
    final long start = System.nanoTime();
    return key -> System.nanoTime() - start >= 0;
  }

  /** It has no burst to choose, so plenty is a permit each nanosecond. */
  static RateLimiter guava(Limit limit) {
    return RateLimiter.create(limit == PLENTY ? 1e9 : limit.perSecond());
  }

  /** The caller's now, as bucket4j takes it. */
  static final class Given implements TimeMeter {
    static final long NOW = System.nanoTime();

    @Override
    public long currentTimeNanos() {
      return NOW;
    }

    @Override
    public boolean isWallClockBased() {
      return false;
    }
  }

  static Bucket bucket(Limit limit, TimeMeter clock) {
    return Bucket.builder()
        .addLimit(b -> b.capacity(limit.burst()).refillGreedy(limit.count(), limit.period()))
        .withCustomTimePrecision(clock).build();
  }

  /** Its burst is what a cycle hands out, so a cycle is as long as the burst takes. */
  static AtomicRateLimiter resilience(Limit limit, Duration timeout) {
    return new AtomicRateLimiter("adapter", RateLimiterConfig.custom()
        .limitForPeriod(limit.burst())
        .limitRefreshPeriod(limit.period().multipliedBy(limit.burst()).dividedBy(limit.count()))
        .timeoutDuration(timeout).build());
  }

  static AtomicRateLimiter atomic(Limit limit) {
    return resilience(limit, Duration.ZERO);
  }

  static AtomicRateLimiter patient(Limit limit) {
    return resilience(limit, Duration.ofMinutes(1));
  }

  /** No gate: what every gate does at least. */
  static LongPredicate increments(Limit limit) {
    final AtomicLong word = new AtomicLong();
    return key -> {
      word.incrementAndGet();
      word.decrementAndGet();
      return true;
    };
  }

  /** How many a gate lets in at once. Under CLOSED one, whose place is taken. */
  static int places(Limit limit) {
    return limit == CLOSED ? 1 : 100;
  }

  static LongPredicate semaphore(Limit limit) {
    final Semaphore semaphore = new Semaphore(places(limit));
    if (limit == CLOSED) semaphore.tryAcquire();
    return key -> {
      if (!semaphore.tryAcquire()) return false;
      semaphore.release();
      return true;
    };
  }

  /** In windows, as Netflix has it; calls here are too short for those, unless they are told. */
  static WindowedLimit gradient2(Limit limit) {
    return WindowedLimit.newBuilder().minRttThreshold(0, TimeUnit.NANOSECONDS)
        .build(Gradient2Limit.newBuilder().minLimit(1).initialLimit(places(limit)).build());
  }

  static LongPredicate netflix(com.netflix.concurrency.limits.Limit places) {
    final SimpleLimiter<Void> limiter = SimpleLimiter.newBuilder().limit(places).build();
    if (places.getLimit() == 1) limiter.acquire(null);
    return key -> {
      final var listener = limiter.acquire(null);
      if (listener.isEmpty()) return false;
      listener.get().onSuccess();
      return true;
    };
  }

  static <L> Function<Limit, LongPredicate> direct(Function<Limit, L> make, Predicate<L> ask) {
    return limit -> {
      final L limiter = make.apply(limit);
      return key -> ask.test(limiter);
    };
  }

  static <L> Function<Limit, LongPredicate> keyed(Function<Limit, L> make, Predicate<L> ask) {
    return limit -> {
      final ConcurrentHashMap<Long, L> limiters = new ConcurrentHashMap<>();
      return key -> ask.test(limiters.computeIfAbsent(key, absent -> make.apply(limit)));
    };
  }

  interface Ask<L> {
    void of(L limiter) throws InterruptedException;
  }

  static <L> Wait waiting(L limiter, Ask<L> ask) {
    return () -> ask.of(limiter);
  }

  /** Fails unless the answers are right: then there is no use in their time. */
  static void check(Subject subject) {
    final LongPredicate take = subject.take().apply(TEN);
    int granted = 0;
    for (int at = 0; at < 20; ++at) granted += take.test(1) ? 1 : 0;
    if (granted != subject.grantsOfTen()) {
      throw new IllegalStateException("burst 10: granted " + granted + " of 20");
    }
  }

  /** A random number of a counter. */
  static long mix(long number) {
    number += 0x9e3779b97f4a7c15L;
    number = (number ^ number >>> 30) * 0xbf58476d1ce4e5b9L;
    number = (number ^ number >>> 27) * 0x94d049bb133111ebL;
    return number ^ number >>> 31;
  }

  static final int ASKED = 1 << 17;  // keys in the order in which they are asked for
  static final int SLICES = 20;  // of time, so short that some are not interrupted

  static long[] keysInRandomOrder(int keys) {
    final long[] order = new long[ASKED];
    for (int at = 0; at < ASKED; ++at) order[at] = mix(Long.remainderUnsigned(mix(at), keys));
    return order;
  }

  /** A thousand calls, apart so that the compiler meets them whole. */
  static int block(LongPredicate take, long[] order, int at) {
    int granted = 0;
    for (int end = at + 1024; at < end; ++at) granted += take.test(order[at & ASKED - 1]) ? 1 : 0;
    return granted;
  }

  /** Nanoseconds a call: that passed, and that the threads used. */
  record Spent(double passed, double used) {}

  static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  /** What a call takes while so many threads ask for so long. */
  static Spent slice(LongPredicate take, long[] order, int threads, long nanoseconds,
      boolean wanted) throws Exception {
    final CyclicBarrier ready = new CyclicBarrier(threads);
    final LongAdder passed = new LongAdder();
    final LongAdder used = new LongAdder();
    final LongAdder calls = new LongAdder();
    crowd(threads, thread -> {
      ready.await();
      final int right = wanted ? 1024 : 0;
      int at = thread * ASKED / 2;
      long made = 0;
      final long usedBefore = THREADS.getCurrentThreadCpuTime();
      final long start = System.nanoTime();
      while (System.nanoTime() - start < nanoseconds) {
        if (block(take, order, at) != right) throw new IllegalStateException("a wrong answer");
        at = at + 1024 & ASKED - 1;
        made += 1024;
      }
      passed.add(System.nanoTime() - start);
      used.add(THREADS.getCurrentThreadCpuTime() - usedBefore);
      calls.add(made);
    }).join();
    return new Spent(passed.doubleValue() / calls.sum(), used.doubleValue() / calls.sum());
  }

  interface Caller {
    void run(int thread) throws Exception;
  }

  interface Crowd {
    void join() throws InterruptedException;
  }

  static Crowd crowd(int size, Caller caller) {
    final Thread[] threads = new Thread[size];
    for (int at = 0; at < size; ++at) {
      final int thread = at;
      threads[at] = new Thread(() -> {
        try {
          caller.run(thread);
        } catch (Throwable thrown) {
          thrown.printStackTrace();
          Runtime.getRuntime().halt(1);
        }
      });
      threads[at].start();
    }
    return () -> {
      for (Thread thread : threads) thread.join();
    };
  }

  static void speed(Subject subject, String question, int keys, int milliseconds)
      throws Exception {
    final boolean isGate = GATE.contains(question);
    final boolean wanted = question.equals("allow") || question.equals("enter");
    final LongPredicate take = subject.take().apply(wanted ? PLENTY : CLOSED);
    final long[] order = keysInRandomOrder(keys);
    for (int key = 0; key < keys; ++key) {
      take.test(mix(key));
      take.test(mix(key));
    }
    // Until the compiler is done; where little time is given nobody asks for figures.
    final int warmUp = Math.min(8, milliseconds);
    for (int at = 0; at < warmUp; ++at) {
      slice(take, order, 1 + at % 2, 10 * milliseconds * 1_000_000L, wanted);
    }
    for (int threads : new int[] {1, 2}) {
      for (int at = 0; at < SLICES; ++at) {
        final Spent spent = slice(take, order, threads, milliseconds * 1_000_000L, wanted);
        if (isGate) {
          say(subject, question, keys, "\"threads\": %d, \"ns\": %.3f, \"ran\": %.3f", threads,
              spent.used(), spent.used() / spent.passed());
        } else {
          say(subject, question, keys, "\"threads\": %d, \"ns\": %.3f", threads, spent.passed());
        }
      }
    }
  }

  static volatile boolean stop;

  /** Has many callers ask for so long, and tells what they got and what the limit allows. */
  static void ask(Subject subject, String question, int threads, Limit limit, int milliseconds)
      throws Exception {
    final boolean waits = question.equals("wakeup");
    final AtomicReference<LongPredicate> take = new AtomicReference<>();
    final AtomicReference<Wait> wait = new AtomicReference<>();
    final CyclicBarrier ready = new CyclicBarrier(threads + 1);
    final CyclicBarrier open = new CyclicBarrier(threads + 1);
    final LongAdder admitted = new LongAdder();
    stop = false;
    final Crowd crowd = crowd(threads, thread -> {
      ready.await();
      open.await();
      admitted.add(waits ? acquireUntilStopped(wait.get()) : takeUntilStopped(take.get()));
    });
    ready.await();
    final long start = System.nanoTime();
    if (waits) {
      wait.set(subject.acquire().apply(limit));
    } else {
      take.set(subject.take().apply(limit));
    }
    open.await();
    Thread.sleep(milliseconds);
    stop = true;
    crowd.join();
    final double seconds = (System.nanoTime() - start) * 1e-9;
    final double burst = subject.startsEmpty() ? 1 : limit.burst();
    say(subject, question, 1, "\"threads\": %d, \"admitted\": %d, \"allowed\": %.1f", threads,
        admitted.sum(), burst + limit.perSecond() * seconds);
  }

  static long takeUntilStopped(LongPredicate take) {
    long granted = 0;
    while (!stop) granted += take.test(1) ? 1 : 0;
    return granted;
  }

  static long acquireUntilStopped(Wait wait) throws InterruptedException {
    long granted = 0;
    for (; !stop; ++granted) wait.once();
    return granted;
  }

  static long heap() throws InterruptedException {
    for (int at = 0; at < 3; ++at) {
      System.gc();
      Thread.sleep(20);
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  static void bytes(Subject subject) throws InterruptedException {
    final int keys = 1_000_000;
    final long before = heap();
    final LongPredicate take = subject.take().apply(CLOSED);
    for (int key = 0; key < keys; ++key) take.test(mix(key));
    final long grown = heap() - before;
    take.test(1);
    say(subject, "bytes", keys, "\"bytes\": %.1f", (double) grown / keys);
  }

  static void say(Subject subject, String question, int keys, String form, Object... values) {
    System.out.printf(Locale.ROOT,
        "{\"library\": \"%s\", \"clock\": \"%s\", \"question\": \"%s\", \"keys\": %d, %s}%n",
        subject.library(), subject.clock(), question, keys,
        String.format(Locale.ROOT, form, values));
  }

  public static void main(String[] words) throws Exception {
    if (words.length == 0) {
      for (Subject subject : SUBJECTS) {
        System.out.printf("{\"library\": \"%s\", \"clock\": \"%s\", \"keys\": %s, "
            + "\"questions\": [\"%s\"]}%n", subject.library(), subject.clock(), subject.keys(),
            String.join("\", \"", subject.questions()));
      }
      return;
    }
    final Subject subject = SUBJECTS.stream()
        .filter(one -> one.library().equals(words[0]) && one.clock().equals(words[1]))
        .findFirst().orElseThrow();
    check(subject);
    final int keys = Integer.parseInt(words[2]);
    final int milliseconds = Integer.parseInt(words[3]);
    for (String question : List.of(words).subList(4, words.length)) {
      switch (question) {
        case "allow", "deny", "enter", "refuse" -> speed(subject, question, keys, milliseconds);
        case "accuracy" -> {
          for (int threads : new int[] {8, 64, 512}) {
            ask(subject, question, threads, SWIFT, milliseconds);
          }
        }
        case "wakeup" -> {
          for (int threads : new int[] {1, 8}) {
            ask(subject, question, threads, PACED, milliseconds);
          }
        }
        case "bytes" -> bytes(subject);
        default -> throw new IllegalArgumentException(question);
      }
    }
  }
}
