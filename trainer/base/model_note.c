/*
 * base/model_note.c: which model made embeddings, as text that people and programs read.
 *
 * A model is "NAME sha256:DIGEST", and the bytes alone decide whether two are the same.  The
 * comment of a column has a line "nwhead model: NAME sha256:DIGEST" for each model whose
 * embeddings are in it, beside whatever else it says.
 */
#include <stdlib.h>
#include <string.h>

#include "base/model_note.h"
#include "base/sha256.h"
#include "base/text.h"

#define LINE "nwhead model: "
#define DIGEST " sha256:"
#define MAX_NAME 100 /* bytes */

/* Name a model, on one line; to be freed. */
char *
nw_model_identity(const char *name, const void *bytes, size_t len)
{
	char hex[NW_SHA256_HEX + 1];
	char *text = nw_valid_utf8(name);
	size_t n = strlen(text);
	char *identity;

	for (char *p = text; *p; p++)
		if ((unsigned char) *p < 0x20 || *p == 0x7f)
			*p = ' ';
	if (n > MAX_NAME)
		for (n = MAX_NAME; n > 0 && ((unsigned char) text[n] & 0xc0) == 0x80; n--)
			;
	text[n] = 0;
	nw_sha256(bytes, len, hex);
	identity = nw_printf("%s" DIGEST "%s", text, hex);
	free(text);
	return identity;
}

/* Find the digest of a model's name; the whole name where it has none. */
static const char *
digest(const char *model)
{
	const char *found = NULL;

	for (const char *p = model; (p = strstr(p, DIGEST)) != NULL; p++)
		found = p;
	return found ? found : model;
}

bool
nw_model_same(const char *a, const char *b)
{
	return strcmp(digest(a), digest(b)) == 0;
}

/* Read the model of a line of a comment, which is `len` bytes long; NULL, else to be freed. */
static char *
line_model(const char *line, size_t len)
{
	char *model;

	if (len < strlen(LINE) || memcmp(line, LINE, strlen(LINE)) != 0)
		return NULL;
	model = nw_printf("%.*s", (int) (len - strlen(LINE)), line + strlen(LINE));
	nw_trim_end(model, " \r");
	return model;
}

/* Find the first model that a comment notes, but for one (or NULL); NULL, else to be freed. */
char *
nw_note_find(const char *comment, const char *but)
{
	while (*comment)
	{
		size_t len = strcspn(comment, "\n");
		char *model = line_model(comment, len);

		if (model != NULL && (but == NULL || !nw_model_same(model, but)))
			return model;
		free(model);
		comment += len + (comment[len] == '\n');
	}
	return NULL;
}

/* Note a model in a comment (or NULL), beside those it notes or in their place; to be freed. */
char *
nw_note_set(const char *comment, const char *model, bool keep)
{
	NwBuf b = {0};
	bool noted = false;

	nw_buf_add(&b, NULL, 0);
	while (comment != NULL && *comment)
	{
		size_t len = strcspn(comment, "\n");
		char *own = line_model(comment, len);
		bool same = own != NULL && nw_model_same(own, model);

		if (own == NULL || keep || same)
		{
			nw_buf_add(&b, comment, len);
			nw_buf_add(&b, "\n", 1);
		}
		noted |= same;
		free(own);
		comment += len + (comment[len] == '\n');
	}
	if (!noted)
		nw_buf_printf(&b, LINE "%s", model);
	else
		b.data[--b.len] = 0; /* the last line break */
	return b.data;
}
