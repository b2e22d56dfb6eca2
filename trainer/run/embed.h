/*
 * run/embed.h: the subcommand "embed".
 */
#ifndef NW_EMBED_H
#define NW_EMBED_H

int nw_embed_main(int argc, char **argv);

#endif
