package documents

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// anchor returns the anchor that GitHub gives a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// Links of pages lead to files of the repository, and to headings that are there.
func TestLinksLeadSomewhere(t *testing.T) {
	anchors := map[string]map[string]bool{}
	texts := map[string]string{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		texts[page] = fenced.ReplaceAllString(string(text), "")
		anchors[page] = map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(texts[page], -1) {
			anchors[page][anchor(m[1])] = true
		}
	}
	for page, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, at, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			_, err := os.Stat(filepath.Join(root, target))
			require.NoError(t, err, "%s links to %s", page, m[1])
			if at != "" && anchors[target] != nil {
				require.True(t, anchors[target][at], "%s links to %s: %s has no such heading", page, m[1], target)
			}
		}
	}
}

// Pages that a text names without a link exist too: docs/placement.md.
func TestNamedPagesExist(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/[a-z0-9_/-]+\.(md|svg|json)\b`)
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for _, name := range named.FindAllString(string(text), -1) {
			require.FileExists(t, filepath.Join(root, name), page)
		}
	}
}

// Files and folders that a page has in backquotes exist, where the first part is a folder of the root.
func TestNamedFilesExist(t *testing.T) {
	named := regexp.MustCompile("`([a-z][\\w.-]*(?:/[\\w.-]+)+)/?`")
	symbol := regexp.MustCompile(`\.[A-Z][\w.]*$`) // pkg.Name
	seen := 0
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/reports/") {
			continue // they tell what was
		}
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			first, _, _ := strings.Cut(m[1], "/")
			if info, err := os.Stat(filepath.Join(root, first)); err != nil || !info.IsDir() || symbol.MatchString(m[1]) {
				continue
			}
			seen++
			_, err := os.Stat(filepath.Join(root, m[1]))
			require.NoError(t, err, "%s names %s", page, m[1])
		}
	}
	require.Greater(t, seen, 100)
}

// The packages and programs of docs/architecture.svg exist.
func TestArchitecture(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join(root, "docs/architecture.svg"))
	require.NoError(t, err)
	names := regexp.MustCompile(`class="package"[^>]*>([^<]+)<`).FindAllStringSubmatch(string(picture), -1)
	require.Greater(t, len(names), 20)
	for _, m := range names {
		_, library := os.Stat(filepath.Join(root, m[1]))
		_, program := os.Stat(filepath.Join(root, "cmd", m[1]))
		require.True(t, library == nil || program == nil, m[1])
	}
}

// What a reader has to read stays short: README has at most 100 lines, and the pages of docs, without the tables of rules and the reports, at
// most 32,500 words. A page that grows says something twice, or has a field list or a log that belongs elsewhere.
func TestLength(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 100)
	words := 0
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/fidelity/") && !strings.HasPrefix(page, "docs/reports/") {
			text, err := os.ReadFile(filepath.Join(root, page))
			require.NoError(t, err)
			words += len(strings.Fields(string(text)))
		}
	}
	require.Greater(t, words, 10_000)
	require.LessOrEqual(t, words, 32_500)
}
