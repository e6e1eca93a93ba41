/** Several files as one zip, stored as they are: so that a handful of notes can be uploaded together. */
export async function zipped(files: File[]): Promise<File> {
  const parts: Uint8Array[] = []
  const table: Uint8Array[] = []
  let at = 0
  for (const file of files) {
    const name = new TextEncoder().encode(file.name)
    const data = new Uint8Array(await file.arrayBuffer())
    const about = [20, 0x0800, 0, ...dosTime(file.lastModified)]
    const sizes = [crc(data), data.length, data.length]
    const head = bytes([0x04034b50], about, sizes, [name.length, 0])
    table.push(bytes([0x02014b50], [20, ...about], sizes, [name.length, 0, 0, 0, 0], [0, at]), name)
    parts.push(head, name, data)
    at += head.length + name.length + data.length
  }
  const size = table.reduce((sum, one) => sum + one.length, 0)
  const end = bytes([0x06054b50], [0, 0, files.length, files.length], [size, at], [0])
  return new File([...parts, ...table, end] as BlobPart[], `${files.length} files.zip`, {
    type: 'application/zip',
  })
}

/** Numbers in little endian: in turn of four bytes and of two. */
function bytes(...groups: number[][]): Uint8Array {
  const widths = groups.map((_, group) => (group % 2 === 0 ? 4 : 2))
  const out = new DataView(
    new ArrayBuffer(groups.reduce((sum, one, group) => sum + one.length * widths[group]!, 0)),
  )
  let at = 0
  groups.forEach((group, index) => {
    for (const value of group) {
      if (widths[index] === 4) out.setUint32(at, value, true)
      else out.setUint16(at, value, true)
      at += widths[index]!
    }
  })
  return new Uint8Array(out.buffer)
}

function dosTime(at: number): [number, number] {
  const time = new Date(Math.max(at, Date.UTC(1980, 1, 1)))
  return [
    (time.getHours() << 11) | (time.getMinutes() << 5) | (time.getSeconds() >> 1),
    ((time.getFullYear() - 1980) << 9) | ((time.getMonth() + 1) << 5) | time.getDate(),
  ]
}

const TABLE = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

function crc(data: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of data) value = (value >>> 8) ^ TABLE[(value ^ byte) & 0xff]!
  return (value ^ 0xffffffff) >>> 0
}
