"""A language model that speaks OpenAI's protocol. Retries, backoff and timeouts are the SDK's.

Neither the key nor a text is ever part of an error or a log line.
"""

import logging

import openai

from keepstone.providers.llm import Completion, refusal


class OpenAIModel:
    def __init__(
        self, base_url: str | None, api_key: str, model: str, *, timeout: float = 60, retries: int = 2
    ) -> None:
        self.name = model
        logging.getLogger("openai").setLevel(logging.WARNING)  # at debug level it logs whole requests
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries)

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion:
        try:
            answer = await self._client.chat.completions.create(
                model=self.name,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
                max_tokens=max_tokens,
                temperature=0,
            )
            text = answer.choices[0].message.content or ""
        except (openai.OpenAIError, AttributeError, IndexError, TypeError) as fault:
            raise refusal(getattr(fault, "status_code", None)) from None
        usage = answer.usage
        return Completion(
            text=text,
            tokens_in=usage.prompt_tokens if usage else 0,
            tokens_out=usage.completion_tokens if usage else 0,
        )

    async def close(self) -> None:
        await self._client.close()
