/*
 * test_array_text.c
 *		The elements of arrays out of their text.
 */
#include <string.h>

#include "bytes/array_text.h"
#include "check.h"

#define MOST 20

/* Read a text; elements are joined by |, null ones are -. */
static long
read_text(const char *text, size_t len, char *joined)
{
	char *exact = memcpy(check_alloc(len), text, len);
	char *space = check_alloc(len);
	size_t room = nw_array_text_room(exact, len);
	NwElement *element = check_alloc(room * sizeof(NwElement));
	long n = nw_array_text_read(exact, len, space, element, room);

	*joined = '\0';
	for (long i = 0; i < n; i++)
	{
		if (i > 0)
			strcat(joined, "|");
		if (element[i].data)
			strncat(joined, element[i].data, element[i].len);
		else
			strcat(joined, "-");
	}
	free(element);
	free(space);
	free(exact);
	return n;
}

static void
test_arrays(void)
{
	static const struct
	{
		const char *text;
		long n;
		const char *joined;
	} cases[] = {
		{"{}", 0, ""},
		{"{a}", 1, "a"},
		{"{a,b}", 2, "a|b"},
		{"{1,-2.5,3e-7}", 3, "1|-2.5|3e-7"},
		{"{a,NULL,b}", 3, "a|-|b"},
		{"{null,Null,nulls,nul}", 4, "-|-|nulls|nul"},
		{"{\"NULL\",\"\",\" a \"}", 3, "NULL|| a "},
		{"{\"a,b\",\"{c}\",\"\\\"\",\"\\\\\"}", 4, "a,b|{c}|\"|\\"},
		{"{{1,2},{3,4}}", 4, "1|2|3|4"},
		{"{{{{{{x}}}}}}", 1, "x"},
		{"[0:1]={a,b}", 2, "a|b"},
		{"[-1:0][2:2]={{a},{b}}", 2, "a|b"},
		{"{\303\244,\"\303\266 \303\274\"}", 2, "\303\244|\303\266 \303\274"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char joined[100];
		long n = read_text(cases[i].text, strlen(cases[i].text), joined);

		CHECK(n == cases[i].n, "%s: %ld", cases[i].text, n);
		CHECK(strcmp(joined, cases[i].joined) == 0, "%s: %s", cases[i].text, joined);
	}
}

static void
test_refused(void)
{
	static const char *const texts[] = {
		"",         "a",           "{",        "}",
		"{a",       "a}",          "{a,}",     "{,a}",
		"{,}",      "{a}}",        "{{a}",     "{a}{b}",
		"{a} ",     " {a}",        "{a, b}",   "{a b}",
		"{\"a}",    "{\"a\"b}",    "{\"a\\",   "{a\\b}",
		"{a\"b\"}", "{{}}",        "{{a},b}",  "{a,{b}}",
		"{{a},{}}", "{{{a}},{b}}", "[1:2]{a}", "[1]={a}",
		"[:]={a}",  "[1:2={a}",    "[1:2]=",   "{{{{{{{x}}}}}}}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		char joined[100];

		CHECK(read_text(texts[i], strlen(texts[i]), joined) == -1, "%s", texts[i]);
	}
}

/* What is printed as PostgreSQL does is read as what it was; so is any beginning of it refused. */
static void
test_round_trip(void)
{
	static const char letters[] = "ab,{}\"\\ nulNUL\t";

	for (int round = 0; round < 2000; round++)
	{
		char text[MOST * 20] = "{";
		char expected[MOST * 20] = "";
		char joined[MOST * 20];
		int n = 1 + check_below(5);

		for (int i = 0; i < n; i++)
		{
			int len = check_below(5);

			strcat(text, i > 0 ? ",\"" : "\"");
			strcat(expected, i > 0 ? "|" : "");
			for (int j = 0; j < len; j++)
			{
				char letter[3] = {letters[check_below((int) sizeof(letters) - 1)], '\0', '\0'};

				strcat(expected, letter);
				if (letter[0] == '"' || letter[0] == '\\')
				{
					letter[1] = letter[0];
					letter[0] = '\\';
				}
				strcat(text, letter);
			}
			strcat(text, "\"");
		}
		strcat(text, "}");
		CHECK(read_text(text, strlen(text), joined) == n, "%s", text);
		CHECK(strcmp(joined, expected) == 0, "%s: %s", text, joined);
		for (size_t len = 0; len < strlen(text); len++)
			CHECK(read_text(text, len, joined) == -1, "%.*s", (int) len, text);
	}
}

int
main(void)
{
	NwElement one;
	char space[10];

	check_start("array_text");
	test_arrays();
	test_refused();
	test_round_trip();
	CHECK(nw_array_text_read("{a,b}", 5, space, &one, 1) == -1, "no room");
	return check_finish();
}
