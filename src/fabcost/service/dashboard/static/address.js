/** The chosen model and period, kept in the address so that a reload or a bookmark keeps them. */

const read = () => new URLSearchParams(location.search);

/** The choice in the address: {model, minutes, view}, each null if it is not there. */
export function chosen() {
  const choice = read();
  return { model: choice.get("model"), minutes: choice.get("minutes"), view: choice.get("view") };
}

/** Put a choice into the address, without an entry in the history. */
export function choose(changes) {
  const choice = read();
  for (const [name, value] of Object.entries(changes)) choice.set(name, value);
  history.replaceState(null, "", `?${choice}`);
}
