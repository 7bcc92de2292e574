//! Rate limiters of Rust, asked as bench/peers/README.md says.
use governor::clock::{Clock, FakeRelativeClock, MonotonicClock, QuantaClock, ReasonablyRealtime};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

/// So many in each period, and burst at once.
#[derive(Clone, Copy)]
struct Limit {
    count: u32,
    period: Duration,
    burst: u32,
}

const DAY: Duration = Duration::from_secs(86_400);
const SECOND: Duration = Duration::from_secs(1);
const fn limit(count: u32, period: Duration, burst: u32) -> Limit {
    Limit { count, period, burst }
}
const PLENTY: Limit = limit(10, SECOND, 1_000_000_000);
const CLOSED: Limit = limit(1, DAY, 1);
const TEN: Limit = limit(1, DAY, 10);
const SWIFT: Limit = limit(100_000, SECOND, 100_000);
const PACED: Limit = limit(100_000, SECOND, 100);

impl Limit {
    fn quota(self) -> Quota {
        let burst = NonZeroU32::new(self.burst).unwrap();
        Quota::with_period(self.period / self.count).unwrap().allow_burst(burst)
    }
}

/// A library as one uses it: `take` answers at once, `wait` returns when one may act.
trait Limiter: Send + Sync + 'static {
    fn new(limit: Limit) -> Self;
    fn take(&self, key: u64) -> bool;
    fn wait(&self) {
        panic!("it cannot wait");
    }
}

struct InstantNow(Instant);
impl Limiter for InstantNow {
    fn new(_: Limit) -> Self {
        Self(Instant::now())
    }
    fn take(&self, _: u64) -> bool {
        Instant::now() >= self.0
    }
}

struct QuantaNow(QuantaClock);
impl Limiter for QuantaNow {
    fn new(_: Limit) -> Self {
        Self(QuantaClock::default())
    }
    fn take(&self, _: u64) -> bool {
        std::hint::black_box(self.0.now());
        true
    }
}

type DirectState = governor::state::InMemoryState;
type NoMiddleware<C> = governor::middleware::NoOpMiddleware<<C as Clock>::Instant>;
type Keys = governor::state::keyed::DashMapStateStore<u64>;

struct Direct<C: Clock>(RateLimiter<governor::state::NotKeyed, DirectState, C, NoMiddleware<C>>);

macro_rules! direct {
    ($clock:ty $(, $wait:item)?) => {
        impl Limiter for Direct<$clock> {
            fn new(limit: Limit) -> Self {
                Self(RateLimiter::direct_with_clock(limit.quota(), <$clock>::default()))
            }
            fn take(&self, _: u64) -> bool {
                self.0.check().is_ok()
            }
            $($wait)?
        }
    };
}
direct!(QuantaClock, fn wait(&self) { block_until_ready(self) });
direct!(MonotonicClock, fn wait(&self) { block_until_ready(self) });
direct!(FakeRelativeClock);

fn block_until_ready<C: Clock + ReasonablyRealtime>(limiter: &Direct<C>) {
    futures_executor::block_on(limiter.0.until_ready());
}

struct Keyed<C: Clock>(RateLimiter<u64, Keys, C, NoMiddleware<C>>);
impl<C: Clock + Default + Send + Sync + 'static> Limiter for Keyed<C>
where
    C::Instant: Send + Sync + 'static,
{
    fn new(limit: Limit) -> Self {
        Self(RateLimiter::dashmap_with_clock(limit.quota(), C::default()))
    }
    fn take(&self, key: u64) -> bool {
        self.0.check_key(&key).is_ok()
    }
}

/// What is measured, and how results name it.
struct Subject {
    library: &'static str,
    clock: &'static str,
    keys: &'static [usize],
    questions: &'static [&'static str],
    check: fn(),
    answer: fn(&Subject, &Asked),
}

struct Asked {
    question: String,
    keys: usize,
    length: Duration,
}

const ONE: &[usize] = &[1];
const MANY: &[usize] = &[1, 100_000];
const QUICK: &[&str] = &["allow", "deny"];
const HOT: &[&str] = &["allow", "deny", "accuracy", "wakeup"];
const KEYED: &[&str] = &["allow", "deny", "bytes"];

fn subjects() -> Vec<Subject> {
    fn row<L: Limiter>(
        library: &'static str,
        clock: &'static str,
        keys: &'static [usize],
        questions: &'static [&'static str],
    ) -> Subject {
        Subject { library, clock, keys, questions, check: check::<L>, answer: answer::<L> }
    }
    let mut all = vec![
        row::<InstantNow>("Instant::now", "none", ONE, &["allow"]),
        row::<QuantaNow>("QuantaClock::now", "none", ONE, &["allow"]),
        row::<Direct<QuantaClock>>("governor", "default", ONE, HOT),
        row::<Direct<MonotonicClock>>("governor, Instant", "default", ONE, HOT),
        row::<Direct<FakeRelativeClock>>("governor", "given", ONE, QUICK),
        row::<Keyed<QuantaClock>>("governor, DashMap", "default", MANY, KEYED),
        row::<Keyed<MonotonicClock>>("governor, DashMap, Instant", "default", MANY, QUICK),
        row::<Keyed<FakeRelativeClock>>("governor, DashMap", "given", MANY, QUICK),
    ];
    for clock in &mut all[..2] {
        clock.check = || {};
    }
    all
}

/// Fails unless the answers are right: then there is no use in their time.
fn check<L: Limiter>() {
    let limiter = L::new(TEN);
    let granted = (0..20).filter(|_| limiter.take(1)).count();
    assert_eq!(granted, 10, "burst 10, asked 20 times");
}

/// A random number of a counter.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

const ASKED: usize = 1 << 17; // keys in the order in which they are asked for
const SLICES: usize = 20; // of time, so short that some are not interrupted

fn keys_in_random_order(keys: usize) -> Arc<Vec<u64>> {
    Arc::new((0..ASKED as u64).map(|at| mix(mix(at) % keys as u64)).collect())
}

struct Slice {
    threads: usize,
    length: Duration,
    wanted: bool,
}

/// Nanoseconds a call while so many threads ask for so long.
fn slice<L: Limiter>(limiter: &Arc<L>, order: &Arc<Vec<u64>>, slice: &Slice) -> f64 {
    let (length, wanted) = (slice.length, slice.wanted);
    let ready = Arc::new(Barrier::new(slice.threads));
    let threads: Vec<_> = (0..slice.threads)
        .map(|thread| {
            let (limiter, order, ready) = (limiter.clone(), order.clone(), ready.clone());
            std::thread::spawn(move || {
                ready.wait();
                let (mut at, mut calls) = (thread * ASKED / 2, 0u64);
                let start = Instant::now();
                while start.elapsed() < length {
                    for _ in 0..1024 {
                        assert_eq!(limiter.take(order[at & (ASKED - 1)]), wanted);
                        at += 1;
                    }
                    calls += 1024;
                }
                (start.elapsed().as_nanos() as f64, calls as f64)
            })
        })
        .collect();
    let sums = threads.into_iter().map(|thread| thread.join().unwrap());
    let (nanoseconds, calls) = sums.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    nanoseconds / calls
}

fn speed<L: Limiter>(subject: &Subject, asked: &Asked) {
    let wanted = asked.question == "allow";
    let limiter = Arc::new(L::new(if wanted { PLENTY } else { CLOSED }));
    let order = keys_in_random_order(asked.keys);
    for key in 0..asked.keys as u64 {
        limiter.take(mix(key));
        limiter.take(mix(key));
    }
    let warm_up = Slice { threads: 1, length: 10 * asked.length, wanted };
    slice(&limiter, &order, &warm_up);
    for threads in [1, 2] {
        for _ in 0..SLICES {
            let ns = slice(&limiter, &order, &Slice { threads, length: asked.length, wanted });
            say(subject, asked, &format!("\"threads\": {threads}, \"ns\": {ns:.3}"));
        }
    }
}

/// Has many callers ask for so long, and tells what they got and what the limit allows.
fn crowd<L: Limiter>(subject: &Subject, asked: &Asked, limit: Limit, threads: usize) {
    let waits = asked.question == "wakeup";
    let limiter: OnceLock<L> = OnceLock::new();
    let ready = Barrier::new(threads + 1);
    let (open, stop, admitted) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
    let mut start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                ready.wait();
                // No lock here: hundreds that leave one while others run take a minute.
                while !open.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                let (limiter, mut granted) = (limiter.get().unwrap(), 0);
                while !stop.load(Ordering::Relaxed) {
                    if waits {
                        limiter.wait();
                    }
                    granted += u64::from(waits || limiter.take(1));
                }
                admitted.fetch_add(granted, Ordering::Relaxed);
            });
        }
        ready.wait();
        start = Instant::now();
        limiter.get_or_init(|| L::new(limit));
        open.store(true, Ordering::Release);
        std::thread::sleep(asked.length);
        stop.store(true, Ordering::Relaxed);
    });
    let rate = f64::from(limit.count) / limit.period.as_secs_f64();
    let allowed = f64::from(limit.burst) + rate * start.elapsed().as_secs_f64();
    let counts = format!("\"admitted\": {}, \"allowed\": {allowed:.1}", admitted.into_inner());
    say(subject, asked, &format!("\"threads\": {threads}, {counts}"));
}

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

fn bytes<L: Limiter>(subject: &Subject, asked: &Asked) {
    const KEYS: u64 = 1_000_000;
    let before = resident_bytes();
    let limiter = L::new(CLOSED);
    for key in 0..KEYS {
        limiter.take(mix(key));
    }
    let each = (resident_bytes() - before) / KEYS as f64;
    let many = Asked { question: asked.question.clone(), keys: KEYS as usize, ..*asked };
    say(subject, &many, &format!("\"bytes\": {each:.1}"));
}

fn answer<L: Limiter>(subject: &Subject, asked: &Asked) {
    match asked.question.as_str() {
        "allow" | "deny" => speed::<L>(subject, asked),
        "accuracy" => [8, 64, 512].iter().for_each(|&n| crowd::<L>(subject, asked, SWIFT, n)),
        "wakeup" => [1, 8].iter().for_each(|&n| crowd::<L>(subject, asked, PACED, n)),
        "bytes" => bytes::<L>(subject, asked),
        other => panic!("there is no question {other}"),
    }
}

fn say(subject: &Subject, asked: &Asked, result: &str) {
    println!(
        "{{\"library\": \"{}\", \"clock\": \"{}\", \"question\": \"{}\", \"keys\": {}, {result}}}",
        subject.library, subject.clock, asked.question, asked.keys
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() {
        for Subject { library, clock, keys, questions, .. } in subjects() {
            println!(
                "{{\"library\": \"{library}\", \"clock\": \"{clock}\", \"keys\": {keys:?}, \
                 \"questions\": {questions:?}}}"
            );
        }
        return;
    }
    assert!(words.len() > 4, "usage: adapter [LIBRARY CLOCK KEYS MILLISECONDS QUESTION...]");
    let all = subjects();
    let named = |one: &&Subject| one.library == words[0] && one.clock == words[1];
    let subject = all.iter().find(named).expect("there is no such library and clock");
    let keys = words[2].parse().expect("a number of keys");
    let length = Duration::from_millis(words[3].parse().expect("milliseconds"));
    (subject.check)();
    for question in &words[4..] {
        (subject.answer)(subject, &Asked { question: question.clone(), keys, length });
    }
}
