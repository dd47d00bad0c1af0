/** When something on a page was seen. */

export interface Sight {
  /** The share of the element that must be in view. */
  share?: number;
  /** For how many milliseconds on end. */
  duration?: number;
}

/** Calls `seen` once an element was in view for long enough; what it returns stops looking. */
export function whenSeen(element: Element, seen: () => void, sight: Sight = {}): () => void {
  const { share = 0.5, duration = 1_000 } = sight;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let inView = false;
  const look = (): void => {
    clearTimeout(timer);
    if (inView && document.visibilityState === "visible") {
      timer = setTimeout(() => {
        stop();
        seen();
      }, duration);
    }
  };
  const observer = new IntersectionObserver(
    (entries) => {
      const last = entries[entries.length - 1];
      // What is larger than the window is seen when it fills as much of that.
      const filled = (last?.intersectionRect.height ?? 0) / innerHeight;
      inView = last?.isIntersecting === true && Math.max(last.intersectionRatio, filled) >= share;
      look();
    },
    { threshold: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, share].sort() },
  );
  const stop = (): void => {
    clearTimeout(timer);
    observer.disconnect();
    document.removeEventListener("visibilitychange", look);
  };
  document.addEventListener("visibilitychange", look);
  observer.observe(element);
  return stop;
}
