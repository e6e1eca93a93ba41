"""Human languages: how texts fall into sentences, what scripts, stop words, dates and doubt look like.

Owns the words of languages. They stand in `rules/`, files that a speaker of a language can edit without reading Python;
`phrases` says how a phrase is written there. The modules here say what the words are for, and nothing of memories:
what is kept, named or summed up is decided by the modules of the engine above.
"""
