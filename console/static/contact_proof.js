// Finds the proof of work of a contact form: a number for which SHA-256 (FIPS 180-4) of "token:number" begins with
// `bits` zero bits.

const K = new Uint32Array(64);
const H = new Uint32Array(8);
(function constants() {
  let count = 0;
  for (let prime = 2; count < 64; prime += 1) {
    let is_prime = true;
    for (let each = 2; each * each <= prime; each += 1) if (prime % each === 0) { is_prime = false; break; }
    if (!is_prime) continue;
    if (count < 8) H[count] = fraction(prime ** (1 / 2));
    K[count] = fraction(prime ** (1 / 3));
    count += 1;
  }
})();

function fraction(number) { return ((number - Math.floor(number)) * 2 ** 32) | 0; }

function leading(bytes) {
  const length = bytes.length;
  const blocks = new Uint8Array(((length + 8) >> 6) * 64 + 64);
  blocks.set(bytes);
  blocks[length] = 0x80;
  const view = new DataView(blocks.buffer);
  view.setUint32(blocks.length - 4, length * 8);
  const state = new Uint32Array(H);
  const w = new Uint32Array(64);
  for (let at = 0; at < blocks.length; at += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = view.getUint32(at + i * 4);
    for (let i = 16; i < 64; i += 1) {
      const a = w[i - 15];
      const b = w[i - 2];
      const s0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
      const s1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((each, i) => { state[i] += each; });
  }
  return state[0];
}

self.addEventListener("message", (event) => {
  const { token, bits } = event.data;
  const encoder = new TextEncoder();
  for (let number = 0; ; number += 1) {
    if (leading(encoder.encode(`${token}:${number}`)) >>> (32 - bits) === 0) {
      self.postMessage(String(number));
      return;
    }
  }
});
