package dump

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// The flags set their fields. A size is between 1Mi and 1Pi.
func TestFlags(t *testing.T) {
	for text, want := range map[string]int64{"1Mi": 1 << 20, "1Pi": 1 << 50, "300Mi": 300 << 20, "1048575": 0, "1125899906842625": 0, "much": 0, "-1": 0} {
		var o Options
		f := flag.NewFlagSet("x", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		o.Flags(f)
		err := f.Parse([]string{"-v", "-max-size", text})
		require.Equal(t, want == 0, err != nil, text)
		require.Equal(t, want, o.MaxSize, text)
		require.True(t, o.Verbose)
		if err != nil {
			require.ErrorContains(t, err, "must be a quantity of bytes between 1Mi and 1Pi")
		}
	}
	require.EqualValues(t, 268435456, Options{}.file())
	require.EqualValues(t, 268435456, Options{MaxSize: -1}.file())
	require.EqualValues(t, 1, Options{MaxSize: 1}.file())
	require.Equal(t, 16777216, Options{}.object())
}

// Keys of YAML are texts in JSON: numbers and bools as they are written, and no other values.
func TestKeyText(t *testing.T) {
	for want, k := range map[string]any{"a": "a", "-7": -7, "-8": int64(-8), "18446744073709551615": uint64(math.MaxUint64), "0.1": 0.1, "1e+21": 1e21, "1.5": 1.5, "true": true, "false": false} {
		got, ok := keyText(k)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, k := range []any{nil, []any{1}, map[any]any{}} {
		_, ok := keyText(k)
		require.False(t, ok)
		w := &writer{}
		require.EqualError(t, w.object(map[any]any{"a": 1, k0(k): 2}, 0), fmt.Sprintf("Invalid value: %v: a key must be a string, a number or a bool", k0(k)))
	}
}

// k0 returns a key that maps can have.
func k0(k any) any {
	if k == nil || reflect.TypeOf(k).Comparable() {
		return k
	}
	return [1]string{fmt.Sprint(k)}
}

// Documents end at lines of three marks, also at the end of the file, and what stands behind a mark is the next document.
func TestDocumentsEnd(t *testing.T) {
	for text, want := range map[string][]string{
		"a: 1\n---":         {"a: 1\n"},
		"a: 1\n...":         {"a: 1\n"},
		"a: 1\n---\n":       {"a: 1\n"},
		"a: 1\n--":          {"a: 1\n--"},
		"a: 1\n----\n":      {"a: 1\n----\n"},
		"a: 1\n--- b":       {"a: 1\n", " b"},
		"a: 1\n--- b\n":     {"a: 1\n", " b\n"},
		"a: 1\n--- # no\nb": {"a: 1\n", "b"},
		"--- a\n---\tb":     {" a\n", "\tb"},
	} {
		d := newDocuments(bufio.NewReader(strings.NewReader(text)))
		var got []string
		for d.next() {
			part, err := io.ReadAll(d)
			require.NoError(t, err)
			if len(part) > 0 {
				got = append(got, string(part))
			}
		}
		require.Equal(t, want, got, "%q", text)
	}
}

// Lists keep no spare room, in which an append would write into what another object shares.
func TestSharedListsAreExact(t *testing.T) {
	type part struct {
		Names []string
		Bytes []byte
		Inner []*part
	}
	v := part{Names: append(make([]string, 0, 9), "a", "b"), Bytes: append(make([]byte, 0, 9), 1), Inner: append(make([]*part, 0, 4), &part{Names: append(make([]string, 0, 5), "c")})}
	want := part{Names: []string{"a", "b"}, Bytes: []byte{1}, Inner: []*part{{Names: []string{"c"}}}}
	share(reflect.ValueOf(&v).Elem(), reflect.Value{})
	require.Equal(t, want, v)
	require.Equal(t, []int{2, 1, 1, 1}, []int{cap(v.Names), cap(v.Bytes), cap(v.Inner), cap(v.Inner[0].Names)})
}

// A key is the same key with and without escapes, wherever they stand, and a text has no control characters.
func TestKeysAndTextsOfJSON(t *testing.T) {
	for _, twice := range []string{`{"ab":1,"a\u0062":2}`, `{"ab":1,"\u0061b":2}`, `{"a\u0062":1,"ab":2}`} {
		s := scan{data: []byte(twice)}
		require.ErrorContains(t, s.whole(), "ab: Duplicate value: the key stands twice", twice)
	}
	for c := range byte(0x80) {
		text := `["` + string(rune(c)) + `"]`
		s := scan{data: []byte(text)}
		require.Equal(t, c < ' ' || c == '"' || c == '\\', s.whole() != nil, "%q", text)
	}
}

// An object and a list count alike when values are nested.
func TestNestingOfJSON(t *testing.T) {
	for form, n := range map[string]int{`{"a":`: 1, `[`: 1, `{"a":[`: 2, `[{"a":`: 2} {
		for _, more := range []int{0, 1} {
			open := strings.Repeat(form, maxNesting/n) + strings.Repeat(`[`, maxNesting%n+more)
			closed := []byte{}
			for k := len(open) - 1; k >= 0; k-- {
				switch open[k] {
				case '{':
					closed = append(closed, '}')
				case '[':
					closed = append(closed, ']')
				}
			}
			s := scan{data: []byte(open + "1" + string(closed))}
			if err := s.whole(); more == 0 {
				require.NoError(t, err, form)
			} else {
				require.ErrorContains(t, err, "Too many: objects and lists may be nested", form)
			}
		}
	}
}

// The first bytes of a document are as many as are asked for, from however many lines they come.
func TestHeadOfADocument(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "a", 2: "a\n", 3: "a\nb", 5: "a\nbc\n", 7: "a\nbc\nde", 9: "a\nbc\ndef\n", 99: "a\nbc\ndef\n"} {
		d := newDocuments(bufio.NewReader(strings.NewReader("a\nbc\ndef\n---\nmore\n")))
		require.True(t, d.next())
		head, err := d.head(n)
		require.NoError(t, err)
		require.Equal(t, want, string(head), "%d bytes", n)
	}
}

// What is no letter of a text as it is written is escaped.
func TestTextsOfYAML(t *testing.T) {
	for text, want := range map[string]string{"a b": `"a b"`, "\x1f": `"\u001f"`, "\"": `"\""`, "\\": `"\\"`, "\u00e9": "\"\u00e9\"", "<": `"<"`, "": `""`} {
		w := &writer{}
		w.text(text)
		require.Equal(t, want, string(w.out), "%q", text)
	}
}

// An error of several lines is one line. Standard input may be none.
func TestSmallErrors(t *testing.T) {
	require.EqualError(t, oneLine(errors.New("a\n  b\nc")), "a b c")
	require.EqualError(t, oneLine(errors.New("a  b")), "a  b")
	_, err := Read([]string{"-"}, nil, Options{})
	require.EqualError(t, err, "standard input: is empty: must hold Kubernetes objects as YAML or JSON")
	require.Equal(t, `document 2: line 3: a: Duplicate value: the key stands twice`, outcome(strings.NewReader("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}\n\n{\"a\":1,\"a\":2}")), "the line is that of the object")
}

var errBroken = errors.New("the disk is broken")

// A text of UTF-16 that ends within a pair is refused with the cause: half a character, or the reader's error.
func TestHalfPairsOfUTF16(t *testing.T) {
	const start, pair = "\xff\xfe", "\x3d\xd8\x00\xde"
	read := func(r io.Reader) (string, error) {
		text, err := plain(r, Options{})
		if err != nil {
			return "", err
		}
		b, err := io.ReadAll(text)
		return string(b), err
	}
	text, err := read(strings.NewReader(start + "a\x00" + pair))
	require.NoError(t, err)
	require.Equal(t, "a\U0001f600", text)
	_, err = read(strings.NewReader(start + pair[:3]))
	require.EqualError(t, err, "line 1: half a character of UTF-16 at the end")
	_, err = read(strings.NewReader(start + pair[:2]))
	require.EqualError(t, err, "line 1: Invalid value: 0xd83d: must be UTF-16")
	_, err = read(io.MultiReader(strings.NewReader(start+pair[:2]), iotest.ErrReader(errBroken)))
	require.ErrorIs(t, err, errBroken)
}

// both returns bytes and an error at once.
type both string

func (r both) Read(p []byte) (int, error) { return copy(p, r), errBroken }

// The error of a reader is told also when the bytes before it are too many.
func TestReaderFailsAtTheLimit(t *testing.T) {
	_, err := readDocument(both("long text"), Options{MaxSize: 32})
	require.ErrorIs(t, err, errBroken)
	text, err := readDocument(strings.NewReader("ab"), Options{MaxSize: 32})
	require.NoError(t, err)
	require.Equal(t, "ab", string(text))
	_, err = readDocument(strings.NewReader("abc"), Options{MaxSize: 32})
	require.EqualError(t, err, "Too long: one object may have at most 2 bytes, aliases expanded; -max-size raises the limit")
}
