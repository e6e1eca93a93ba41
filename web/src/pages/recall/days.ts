const DAY = 86_400_000

/** The instant at which a date begins somewhere. */
export function startOfDay(date: string, timeZone: string): string {
  const wanted = Date.parse(`${date}T00:00:00Z`)
  const near = wanted - offset(wanted, timeZone)
  return new Date(wanted - offset(near, timeZone)).toISOString()
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10)
}

export function today(timeZone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(new Date()).slice(0, 10)
}

/** How far clocks there are ahead of UTC at that instant. */
function offset(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at)
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - at
}
