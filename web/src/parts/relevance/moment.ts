/** What a field for date and time holds, for the API; nothing for nothing. */
export function moment(local: string): string | undefined {
  const at = new Date(local)
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined
}
