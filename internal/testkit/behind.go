package testkit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// part is what is behind one hash of a test.
type part struct {
	name string
	text strings.Builder
}

// parts has what is behind the hashes of each test that runs, by its name. [Golden] compares it with the file of [linesFile].
var parts struct {
	sync.Mutex
	of map[string][]*part
}

// keep returns where the text behind a hash is kept until the test ends.
func keep(t testing.TB, name string) io.Writer {
	parts.Lock()
	defer parts.Unlock()
	if parts.of == nil {
		parts.of = map[string][]*part{}
	}
	test := t.Name()
	if parts.of[test] == nil {
		t.Cleanup(func() {
			parts.Lock()
			defer parts.Unlock()
			delete(parts.of, test)
		})
	}
	p := &part{name: name}
	parts.of[test] = append(parts.of[test], p)
	return &p.text
}

// kept returns what is behind the hashes of a test so far.
func kept(t testing.TB) []*part {
	parts.Lock()
	defer parts.Unlock()
	return parts.of[t.Name()]
}

// linesFile names the file with three characters for each piece of the answers behind the hashes of a test. From it a changed answer knows
// which of its lines changed, though the answers themselves are too long for the repository.
func linesFile(t testing.TB, golden string) string {
	return filepath.Join(filepath.Dir(golden), "lines", strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())+".txt")
}

// shortest is the length from which a brace ends a part of a long line.
const shortest = 40

// pieces splits a text behind lines, and long lines behind braces. A piece has eight of these in the mean. Where it ends depends only on what
// stands there, so that a change leaves the pieces before and behind it as they are.
func pieces(text string) (out []string) {
	begin, from := 0, 0
	for k := range len(text) {
		ends := text[k] == '\n' || text[k] == '}' && k-from >= shortest || k+1 == len(text)
		if !ends {
			continue
		}
		h := fnv.New32a()
		_, _ = io.WriteString(h, text[from:k+1]) // it never fails
		if from = k + 1; h.Sum32()%8 == 0 || from == len(text) {
			out = append(out, text[begin:from])
			begin = from
		}
	}
	return out
}

// markLength is the length of what a piece is known by.
const markLength = 3

// mark returns what a piece is known by.
func mark(piece string) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, piece) // it never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[1:])[:markLength]
}

// marks returns the file of what is behind hashes: a line for each part, with the name and the marks of its pieces.
func marks(all []*part) string {
	var out strings.Builder
	for _, p := range all {
		fmt.Fprintf(&out, "%q ", p.name)
		for _, piece := range pieces(p.text.String()) {
			out.WriteString(mark(piece))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// mostParts is how many parts with changed lines are shown.
const mostParts = 3

// gone stands for a piece on file whose text no piece of today has.
const gone = "(text that is no more)\n"

// changedBehind returns the lines behind hashes that the marks on file do not have. It is empty when none changed.
func changedBehind(file string, all []*part) string {
	var out strings.Builder
	shown := 0
	was := map[string]string{}
	for line := range strings.Lines(file) {
		if k := strings.LastIndexByte(line, ' '); k > 0 {
			was[line[:k]] = strings.TrimSpace(line[k:])
		}
	}
	for _, p := range all {
		is := pieces(p.text.String())
		var now strings.Builder
		texts := map[string]string{}
		for _, piece := range is {
			now.WriteString(mark(piece))
			texts[mark(piece)] = piece
		}
		before := was[fmt.Sprintf("%q", p.name)]
		if before == now.String() {
			continue
		}
		if shown++; shown > mostParts {
			continue
		}
		var want []string
		for m := range slices.Chunk([]byte(before), markLength) {
			text, ok := texts[string(m)]
			if !ok {
				text = gone
			}
			want = append(want, text)
		}
		fmt.Fprintf(&out, "behind the hash of %s:\n%s\n", p.name, difference(want, is))
	}
	if more := shown - mostParts; more > 0 {
		fmt.Fprintf(&out, "... and %d more parts\n", more)
	}
	return out.String()
}

// readLines returns the contents of a file of marks, and nothing for one that is missing.
func readLines(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}
