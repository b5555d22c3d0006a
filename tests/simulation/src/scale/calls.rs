/// Median duration of a publish call. Assumed.
const MEDIAN_S: f64 = 0.3;

/// A call in a thousand takes longer than this, of those that are not slow. Assumed.
const LONG_S: f64 = 3.0;

/// Distance of the highest value in a thousand from the mean, in standard deviations.
const ONE_IN_A_THOUSAND: f64 = 3.09;

/// The share of slow calls, and their duration. Assumed.
const SLOW_SHARE: f64 = 0.001;
const SLOW_S: f64 = 15.0;

const STEP_S: f64 = 0.005;

/// The expected duration of the longest of `count` concurrent calls. Their durations are log-normal,
/// except for the slow ones.
pub(super) fn longest_s(count: u32) -> f64 {
    // The mean of a positive quantity is the integral of the probability that it is larger.
    let steps = std::iter::successors(Some(STEP_S / 2.0), |it| Some(it + STEP_S)).take_while(|it| *it < SLOW_S);
    steps.map(|it| (1.0 - share_within(it).powf(count.into())) * STEP_S).sum()
}

/// The share of calls that take at most this long.
fn share_within(seconds: f64) -> f64 {
    let spread = (LONG_S / MEDIAN_S).ln() / ONE_IN_A_THOUSAND;
    (1.0 - SLOW_SHARE) * normal((seconds / MEDIAN_S).ln() / spread)
}

/// The distribution function of the standard normal distribution, with an error below 0.0000001.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions, formula 26.2.17.
fn normal(value: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * value.abs());
    let polynomial = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let series = polynomial.iter().fold(0.0, |sum, it| (sum + it) * t);
    let tail = series * (-value * value / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if value < 0.0 { tail } else { 1.0 - tail }
}
