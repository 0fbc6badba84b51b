package dump

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

var errGone = errors.New("the disk is gone")

// failing returns a text whose reader fails behind it.
func failing(text string) io.Reader {
	return io.MultiReader(strings.NewReader(text), iotest.ErrReader(errGone))
}

// A reader that fails is an error, wherever it fails: text that was read before is not taken for the whole.
func TestReadersThatFail(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(nodeYAML))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	texts := []string{packed.String(), wideText(binary.LittleEndian, "# 😀\n"+nodeYAML), "\ufeff" + nodeYAML}
	for _, c := range cutTexts {
		texts = append(texts, c.text)
	}
	for _, text := range texts {
		for n := range text {
			if n > 4 && n%5 > 0 && !strings.HasSuffix(text[:n], "---") {
				continue
			}
			_, err := Read([]string{"-"}, failing(text[:n]), Options{})
			require.ErrorIs(t, err, errGone, "%q", text[:n])
			if strings.Contains(text[:n], "metadata") {
				continue
			}
			_, err = ReadJSON("-", failing(text[:n]), Options{})
			require.ErrorIs(t, err, errGone, "%q", text[:n])
			data, err := ReadText("-", failing(text[:n]), Options{})
			require.ErrorIs(t, err, errGone, "%q", text[:n])
			require.Nil(t, data)
		}
	}
	for _, c := range cutTexts {
		for n := range c.text {
			s := stream{in: bufio.NewReaderSize(failing(c.text[:n]), 16)}
			var err error
			for c.text[0] == '{' && err == nil {
				_, _, _, err = s.next(func(string, []byte, int) error { return nil })
			}
			if c.text[0] == '{' {
				require.ErrorIs(t, err, errGone, "%q", c.text[:n])
			}
			_, _, err = yamlList(bufio.NewReaderSize(failing(c.text[:n]), 16), 1, Options{}, func([]byte, int) error { return nil })
			require.Error(t, err, "%q", c.text[:n])
		}
	}
}

// Text that is no object makes a stream of objects fail. The error names the line.
func TestStreamsOfOtherValues(t *testing.T) {
	for text, want := range map[string]string{
		`7`: `1 not a Kubernetes object: Invalid value: 7: must be an object with apiVersion and kind`, "\n\"a\"": `2 not a Kubernetes object: Invalid value: "a": must be an object with apiVersion and kind`,
		"\n": "2 EOF", `{`: "1 the JSON ends too early", "{\n": "2 the JSON ends too early", `{"a"`: "1 the JSON ends too early", `{"a":`: "1 the JSON ends too early", "{\"a\":1\n": "2 the JSON ends too early", "{\"a\":1,\n": "2 the JSON ends too early",
		`{"a" 1}`: "1 not JSON", `{a:1}`: "1 not JSON", `{,"a":1}`: "1 not JSON", `{"a":1,}`: "1 not JSON", `{"\x":1}`: "1 not JSON", `]`: "1 not JSON", `{"items":[1}`: "1 not JSON", `{"items":[1`: "1 the JSON ends too early", `{"items":[`: "1 the JSON ends too early", `{"items":[1,`: "1 the JSON ends too early",
		`{"items":[1 2]}`: "1 not JSON", "{\n\"items\":[\n]}": "1 {\n\"items\":[]\n} of a List", `{"items":[]}`: "1 {\"items\":[]} of a List", "{\"kind\":\"Pod\",\n\"items\":[]}": "1 {\"kind\":\"Pod\",\n\"items\":[]}", `{"items":{}}`: `1 {"items":{}}`, `{"kind":7,"items":[]}`: `1 {"kind":7,"items":[]} of a List`,
	} {
		s := stream{in: bufio.NewReader(strings.NewReader(text)), line: 1}
		object, line, streamed, err := s.next(func(string, []byte, int) error { return nil })
		got := fmt.Sprint(line, " ", string(object))
		if streamed {
			got += " of a List"
		}
		if err != nil {
			require.Nil(t, object, "%q", text)
			require.False(t, streamed, "%q", text)
			got = fmt.Sprint(line, " ", err)
		}
		require.Equal(t, want, got, "%q", text)
	}
	require.Equal(t, "document 1: line 2: Invalid value: \\ud800: must be UTF-8, which has no half of a surrogate pair", outcome(strings.NewReader("{\n\"\\ud800\":1}")), "a break before the first key counts")
}

// Progress hears each portion but the last, which the end of the file follows.
func TestProgressOfReaders(t *testing.T) {
	for _, c := range []struct {
		total int64
		in    io.Reader
		want  string
	}{
		{3, iotest.OneByteReader(strings.NewReader("abc")), "1/3 2/3 3/3 "},
		{0, iotest.OneByteReader(strings.NewReader("abc")), "1/0 2/0 3/0 3/3 "},
		{3, iotest.DataErrReader(strings.NewReader("abc")), "3/3 "},
		{3, strings.NewReader("abcd"), "4/4 "},
		{0, strings.NewReader(""), "0/0 "},
		{0, io.MultiReader(&ragged{}, failing("a")), "1/0 1/0 "},
		{2, &idle{}, "0/2 0/2 "},
		{0, &idle{}, ""},
	} {
		var got string
		in := &counted{in: c.in, total: c.total, tell: func(done, total int64) { got += fmt.Sprintf("%d/%d ", done, total) }}
		_, err := io.ReadAll(in)
		if err != nil {
			require.ErrorIs(t, err, errGone)
		}
		require.Equal(t, c.want, got)
	}
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	require.EqualValues(t, 5, size(f))
	require.NoError(t, f.Close())
	require.Zero(t, size(f), "a closed file")
	folder, err := os.Open(t.TempDir())
	require.NoError(t, err)
	require.Zero(t, size(folder))
	require.NoError(t, folder.Close())
	require.Zero(t, size(strings.NewReader("12345")))
}

// idle reads nothing once, and then fails.
type idle struct{ done bool }

func (i *idle) Read([]byte) (int, error) {
	if i.done {
		return 0, errGone
	}
	i.done = true
	return 0, nil
}

// The limit of an object holds to the byte, in every form.
func TestExactLimits(t *testing.T) {
	const limit = 100
	fill := func(n int) string { return strings.Repeat("x", n) }
	for by, fine := range map[int]bool{-1: true, 0: true, 1: false} {
		n := limit + by
		check := func(err error) {
			t.Helper()
			if fine {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "Too long: one object may have at most 100 bytes")
			}
		}
		o := Options{MaxSize: limit * portion}
		head := `{"kind":"Node","metadata":{"name":"`
		_, err := readText(head+fill(n-len(head)-2)+`"}}`, o) // the last bracket does not count
		check(err)
		_, err = fromYAML([]byte(fill(n-2)), 1, limit, o.tooLarge())
		check(err)
		_, err = fromYAML([]byte("["+fill(n-4)+"]"), 1, limit, o.tooLarge())
		check(err)
		_, err = fromYAML([]byte("a: "+fill(n-7)), 1, limit+1, o.tooLarge())
		require.NoError(t, err)
		_, _, err = yamlList(bufio.NewReader(strings.NewReader(fill(n))), 1, o, nil)
		check(err)
		_, _, err = yamlList(bufio.NewReader(strings.NewReader("items:\n- a #"+fill(n-5))), 1, o, func([]byte, int) error { return nil })
		check(err)
		_, err = readDocument(strings.NewReader(fill(n)), o)
		check(err)
		for form, nested := range map[string]string{"list": strings.Repeat("[", maxNesting+by) + "1" + strings.Repeat("]", maxNesting+by), "object": strings.Repeat("{a: ", maxNesting+by) + "1" + strings.Repeat("}", maxNesting+by)} {
			if _, err = fromYAML([]byte(nested), 1, 1<<20, nil); fine {
				require.NoError(t, err, form)
			} else {
				require.ErrorContains(t, err, "Too many: objects and lists may be nested", form)
			}
		}
	}
	s := stream{o: Options{MaxSize: 5 * portion}, gone: 9}
	require.Equal(t, "ab\n\n\n", string(s.pad([]byte("ab"))), "line breaks are left out beyond the limit")
}
