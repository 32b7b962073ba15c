// NumPy's .npy files to and from ONNX Runtime tensors: little-endian, C order, numbers and bools.
import { readFileSync, writeFileSync } from 'node:fs';
import ort from 'onnxruntime-node';

// ONNX Runtime names float16 data by its type but holds the bits in 16-bit words, as we do.
const FORMATS = [
  ['<f4', 'float32', Float32Array],
  ['<f8', 'float64', Float64Array],
  ['<f2', 'float16', Uint16Array],
  ['|i1', 'int8', Int8Array],
  ['<i2', 'int16', Int16Array],
  ['<i4', 'int32', Int32Array],
  ['<i8', 'int64', BigInt64Array],
  ['|u1', 'uint8', Uint8Array],
  ['<u2', 'uint16', Uint16Array],
  ['<u4', 'uint32', Uint32Array],
  ['<u8', 'uint64', BigUint64Array],
  ['|b1', 'bool', Uint8Array],
].map(([descr, type, array]) => ({ descr, type, array }));

export function formatOf(type) {
  const format = FORMATS.find((f) => f.type === type);
  if (!format) throw new Error(`.npy files cannot hold ${type}`);
  return format;
}

export const elementCount = (dims) => dims.reduce((product, dim) => product * dim, 1);

export function readNpy(path) {
  const bytes = readFileSync(path);
  if (bytes.toString('latin1', 0, 6) !== '\x93NUMPY') throw new Error(`${path}: not a .npy file`);
  const long = bytes[6] > 1; // Version 1 holds the header's length in 16 bits, later ones in 32.
  const start = long ? 12 : 10;
  const end = start + (long ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString('latin1', start, end);
  const descr = /'descr': *'([^']*)'/.exec(header)?.[1];
  const format = FORMATS.find((f) => f.descr === descr);
  if (!format) throw new Error(`${path}: element type ${descr} is not supported`);
  if (header.includes("'fortran_order': True")) throw new Error(`${path}: not in C order`);
  const dims = (/'shape': *\(([^)]*)\)/.exec(header)[1].match(/\d+/g) ?? []).map(Number);
  const size = elementCount(dims) * format.array.BYTES_PER_ELEMENT;
  if (end + size !== bytes.length) throw new Error(`${path}: shape and file size disagree`);
  // A typed array needs aligned memory, which the file's own buffer does not promise.
  const data = new format.array(new Uint8Array(bytes.subarray(end)).buffer);
  return new ort.Tensor(format.type, data, dims);
}

export function writeNpy(path, tensor) {
  const { descr } = formatOf(tensor.type);
  const shape = tensor.dims.length === 1 ? `${tensor.dims[0]},` : tensor.dims.join(', ');
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64;
  const header = Buffer.alloc(length, ' ');
  header.write('\x93NUMPY\x01\x00', 'latin1');
  header.writeUInt16LE(length - 10, 8);
  header.write(text, 10, 'latin1');
  header.write('\n', length - 1, 'latin1');
  const { buffer, byteOffset, byteLength } = tensor.data;
  writeFileSync(path, Buffer.concat([header, Buffer.from(buffer, byteOffset, byteLength)]));
}
