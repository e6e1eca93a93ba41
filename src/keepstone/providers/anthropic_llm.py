"""A language model of Anthropic's. Retries, backoff and timeouts are the SDK's.

Neither the key nor a text is ever part of an error or a log line.
"""

import logging

import anthropic

from keepstone.providers.llm import Completion, refusal


class AnthropicModel:
    def __init__(
        self, base_url: str | None, api_key: str, model: str, *, timeout: float = 60, retries: int = 2
    ) -> None:
        self.name = model
        logging.getLogger("anthropic").setLevel(logging.WARNING)
        self._client = anthropic.AsyncAnthropic(
            base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries
        )

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion:
        try:
            answer = await self._client.messages.create(
                model=self.name,
                system=system,
                messages=[{"role": "user", "content": prompt}],
                max_tokens=max_tokens,
            )
            text = "".join(block.text for block in answer.content if block.type == "text")
        except (anthropic.AnthropicError, AttributeError, TypeError) as fault:
            raise refusal(getattr(fault, "status_code", None)) from None
        return Completion(text=text, tokens_in=answer.usage.input_tokens, tokens_out=answer.usage.output_tokens)

    async def close(self) -> None:
        await self._client.close()
