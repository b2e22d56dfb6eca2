/*
 * base/model_note.h: which model made embeddings, as text that people and programs read.
 */
#ifndef NW_MODEL_NOTE_H
#define NW_MODEL_NOTE_H

#include <stdbool.h>
#include <stddef.h>

char *nw_model_identity(const char *name, const void *bytes, size_t len);
bool nw_model_same(const char *a, const char *b);

char *nw_note_find(const char *comment, const char *but);
char *nw_note_set(const char *comment, const char *model, bool keep);

#endif
