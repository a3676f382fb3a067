// Two soft notes for a new question. Made here, so that no sound file is loaded.

let context: AudioContext | undefined;

export function chime(): void {
  // Browsers permit no sound before the first click.
  if (!navigator.userActivation?.hasBeenActive) return;
  context ??= new AudioContext();
  [660, 880].forEach((pitch, index) => note(pitch, index * 0.14));
}

function note(pitch: number, delay: number): void {
  if (!context) return;
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  const start = context.currentTime + delay;
  tone.type = "sine";
  tone.frequency.value = pitch;
  volume.gain.setValueAtTime(0, start);
  volume.gain.linearRampToValueAtTime(0.08, start + 0.02);
  volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.35);
  tone.connect(volume).connect(context.destination);
  tone.start(start);
  tone.stop(start + 0.4);
}
