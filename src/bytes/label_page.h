/*
 * bytes/label_page.h
 *		A page of labels of an nw index: the classes, one after the other.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.  A page here is what lies
 * between the header and the tail of PostgreSQL's page, aligned to 8 bytes.
 */
#ifndef NW_BYTES_LABEL_PAGE_H
#define NW_BYTES_LABEL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A class. */
typedef struct NwLabelItem
{
	uint32_t checksum; /* CRC-32C of all that follows */
	uint32_t class;
	uint32_t first_list;
	uint32_t nlists; /* 0 where its rows are in the common list */
	uint32_t len;    /* of the image */
	char image[];    /* the label's stored bytes */
} NwLabelItem;

/* The page: places of items from its beginning on, items from its end on. */
typedef struct NwLabelPage
{
	uint32_t first_class; /* others follow without a gap */
	uint16_t n;           /* items */
	uint16_t lowest;      /* where the last item begins */
	uint16_t place[];     /* [n] where each begins */
} NwLabelPage;

extern void nw_label_page_init(void *page, size_t size, uint32_t first_class);
extern NwLabelItem *nw_label_page_add(void *page, size_t size, uint32_t first_list, uint32_t nlists,
                                      uint32_t len);
extern const NwLabelItem *nw_label_page_get(const void *page, size_t size, uint32_t nth);
extern const char *nw_label_page_damage(const void *page, size_t size);

#endif /* NW_BYTES_LABEL_PAGE_H */
