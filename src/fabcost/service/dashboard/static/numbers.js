/** Numbers and times in words. */

const SPACE = "\u00a0";
const MINUS = "\u2212";
const grouped = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const second = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** 12,345 */
export const count = (value) => grouped.format(value);

/** 12.3K */
export const compact = (value) => short.format(value);

/** A number with a true minus sign. */
export function decimal(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** What was earned or costs: 12,345 or −0.0123 */
export function amount(value) {
  const text = Math.abs(value) >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
  return text.replace("-", MINUS);
}

/** How many times the odds, of a difference of log-odds: ×1.35 */
export const times = (logOdds) => `×${Number(Math.exp(logOdds).toPrecision(Math.abs(logOdds) < 2 ? 3 : 2))}`;

/** A tick of such an axis: ×2, or ×½ below 1. */
export function timesTick(logOdds) {
  const power = Math.round(logOdds / Math.LN2);
  return power < 0 ? `×1/${2 ** -power}` : `×${2 ** power}`;
}

/** A tick of an axis: no more digits than it needs. */
export const tick = (value) => decimal(value, digitsOf(value));

function digitsOf(value) {
  return String(Number(value.toPrecision(6))).split(".")[1]?.length ?? 0;
}

/** 4.31 %, with fewer digits where the number is large. */
export function percent(share, digits = share < 0.0995 ? 2 : 1) {
  return `${decimal(100 * share, digits)}${SPACE}%`;
}

/** A tick of an axis of percentages. */
export const percentTick = (share) => `${tick(Number((100 * share).toPrecision(6)))}${SPACE}%`;

/** 3.9–4.7 % */
export function percentRange({ lower, upper }) {
  const digits = upper < 0.0995 ? 2 : 1;
  return `${decimal(100 * lower, digits)}–${percent(upper, digits)}`;
}

/** +23 % or −4 % */
export function signedPercent(share) {
  const digits = Math.abs(share) < 0.1 ? 1 : 0;
  const text = share < 10 ? percent(share, digits) : `${count(Math.round(100 * share))}${SPACE}%`;
  return share > 0 ? `+${text}` : text;
}

/** 14:03:27 in the time of the reader. */
export const timeOfDay = (seconds) => (isDate(seconds) ? second.format(1000 * seconds) : "–");

/** Whether a time is near enough for a calendar: logs from elsewhere may hold anything. */
export const isDate = (seconds) => !Number.isNaN(new Date(1000 * seconds).getTime());

/** 14:03, with seconds where the period is short, or with its day where it is long. */
export function moment(seconds, span) {
  const date = 1000 * seconds;
  if (span <= 300) return second.format(date);
  return span > 86_400 ? `${day.format(date)} ${clock.format(date)}` : clock.format(date);
}

/** 850 ms, 12 s, 5 min, 3 h, 2 d */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(1000 * Math.max(seconds, 0))}${SPACE}ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(2))}${SPACE}s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)}${SPACE}min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)}${SPACE}h`;
  return `${Math.round(seconds / 86_400)}${SPACE}d`;
}
