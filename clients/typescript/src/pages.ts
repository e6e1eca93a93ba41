/** Lists of any length, fetched page by page while somebody goes through them. */

/** Some items of a list; `next_cursor` leads to what comes next. */
export interface Page<T> {
  items: T[]
  next_cursor?: string | null
  has_more?: boolean
}

/** `for await` goes through all of it. Nothing is sent before the first is asked for. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #fetch: (cursor?: string) => Promise<Page<T>>

  constructor(fetch: (cursor?: string) => Promise<Page<T>>) {
    this.#fetch = fetch
  }

  /** The first page alone. */
  first(): Promise<Page<T>> {
    return this.#fetch()
  }

  /** Page by page. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let page = await this.#fetch()
    yield page
    while (page.has_more && page.next_cursor) {
      page = await this.#fetch(page.next_cursor)
      yield page
    }
  }

  /** Everything, in one array. */
  async all(): Promise<T[]> {
    const found: T[] = []
    for await (const one of this) found.push(one)
    return found
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items
  }
}
