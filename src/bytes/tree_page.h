/*
 * bytes/tree_page.h
 *		A page of a tree of numbers: a leaf, or a page above others.
 *
 * The tree is a B-tree whose leaves are not sorted: a number is added behind
 * the others, so that the log has to tell of few bytes.  Pages above leaves are
 * sorted; key i is the least number below child i, except for the first, which
 * also takes what is less.  Numbers are never removed.
 *
 * Every page has a checksum, which whatever changes the page keeps up: a class
 * that is not found would be added a second time.
 *
 * Pure C: no PostgreSQL, no allocation, no errors.  A page here is what lies
 * between the header and the tail of PostgreSQL's page, aligned to 8 bytes.
 */
#ifndef NW_BYTES_TREE_PAGE_H
#define NW_BYTES_TREE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No tree is higher: each level multiplies what it holds by hundreds. */
#define NW_TREE_LEVELS 8

typedef struct NwTreePage
{
	uint16_t level;    /* 0 for a leaf */
	uint16_t n;        /* keys */
	uint32_t checksum; /* of level, keys and children */
	uint64_t key[];    /* [capacity], then children where there are */
} NwTreePage;

extern int nw_tree_page_capacity(size_t size, int level);
extern uint32_t *nw_tree_page_children(void *page, size_t size);
extern bool nw_tree_page_is_sane(const void *page, size_t size);
extern bool nw_tree_page_is_sealed(const void *page, size_t size);
extern const char *nw_tree_page_damage(const void *page, size_t size);
extern int nw_tree_page_choose(const void *page, uint64_t key);
extern bool nw_tree_page_ceiling(const void *page, uint64_t key, uint64_t *found);
extern bool nw_tree_page_floor(const void *page, uint64_t key, uint64_t *found);
extern void nw_tree_page_seal(void *page, size_t size);
extern void nw_tree_page_add(void *page, size_t size, uint64_t key);
extern void nw_tree_page_add_child(void *page, size_t size, int behind, uint64_t key,
                                   uint32_t child);
extern uint64_t nw_tree_page_split(void *page, void *right, size_t size);
extern int nw_tree_key_compare(const void *a, const void *b);

#endif /* NW_BYTES_TREE_PAGE_H */
