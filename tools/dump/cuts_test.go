package dump

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// cutTexts are read whole, cut behind every byte, and with every byte replaced.
var cutTexts = []struct{ name, text string }{
	{"JSON List", "{\"apiVersion\":\"v1\", \"kind\":\"List\",\n\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}},\n {\"kind\":\"Node\",\"metadata\":{\"name\":\"n\",\"labels\":{\"k\":\"\\u00e9\\ud83d\\ude00\\\\\\\"\"}}}]}"},
	{"JSON stream, kind last", "{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"kind\":\"PodList\"}\n{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"},\"x\":[1,-2.5e3,true,false,null,{}]}"},
	{"List in a List", "{\"kind\":\"List\",\"items\":[{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{}}]}]}"},
	{"quantities", "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":-1}}}"},
	{"YAML", "%YAML 1.1\n---\nkind: Pod\nmetadata:\n  name: é\n...\n--- # b\n{kind: Node, metadata: {name: n}}\n"},
	{"YAML List", "apiVersion: v1\nitems:\n- kind: Pod\n  metadata:\n    name: a\n# c\n\n- metadata: {name: n}\n  kind: Node\nkind: List\nmetadata: {}\n"},
}

// outcome is the error or the objects of a text.
func outcome(in io.Reader) string {
	o, err := Read([]string{"-"}, in, Options{})
	if err != nil {
		return strings.TrimPrefix(err.Error(), "standard input: ")
	}
	var out []string
	for k, object := range o.All() {
		out = append(out, k.Kind+" "+object.GetNamespace()+"/"+object.GetName())
	}
	out = append(out, o.Warnings.Texts()...)
	return strings.Join(out, ", ")
}

// runs joins equal outcomes of one cut after the other.
func runs(n int, of func(i int) string) string {
	var b strings.Builder
	for from := 0; from < n; {
		text, to := of(from), from+1
		for to < n && of(to) == text {
			to++
		}
		if to-from == 1 {
			fmt.Fprintf(&b, "  %d: %s\n", from, text)
		} else {
			fmt.Fprintf(&b, "  %d to %d: %s\n", from, to-1, text)
		}
		from = to
	}
	return b.String()
}

// What is read of a text that ends too early, or has a wrong character, is in testdata/cuts.txt. It does not depend on how the text
// comes in pieces.
func TestCuts(t *testing.T) {
	var b strings.Builder
	for _, c := range cutTexts {
		fmt.Fprintf(&b, "%s\n%s\n", c.name, c.text)
		cuts := make([]string, len(c.text)+1)
		for i := range cuts {
			cuts[i] = outcome(strings.NewReader(c.text[:i]))
			require.Equal(t, cuts[i], outcome(iotest.OneByteReader(strings.NewReader(c.text[:i]))), "%s up to %d", c.name, i)
		}
		b.WriteString("cut\n" + runs(len(cuts), func(i int) string { return cuts[i] }))
		for _, wrong := range []string{"]", "\""} {
			replaced := make([]string, len(c.text))
			for i := range replaced {
				replaced[i] = outcome(strings.NewReader(c.text[:i] + wrong + c.text[i+1:]))
			}
			fmt.Fprintf(&b, "with %q\n%s", wrong, runs(len(replaced), func(i int) string { return replaced[i] }))
		}
		b.WriteString("\n")
	}
	testkit.Golden(t, "testdata/cuts.txt", b.String())
}

// streamedList reads a text as a long YAML document and returns its items and the rest as JSON, or the error.
func streamedList(text string, size int) string {
	var out []string
	frame, streamed, err := yamlList(bufio.NewReaderSize(strings.NewReader(text), size), 1, Options{}, func(data []byte, line int) error {
		out = append(out, fmt.Sprintf("%d %s", line, data))
		if bytes.Contains(data, []byte("stop")) {
			return errors.New("stopped")
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	values, err := fromYAML(frame, 1, 1<<20, nil)
	if err != nil {
		return "the rest: " + err.Error()
	}
	return fmt.Sprintf("%v %s %s", streamed, strings.Join(out, " "), bytes.Join(values, []byte(" ")))
}

// A long YAML document is read as a short one: items and rest together are the document.
func TestYAMLLists(t *testing.T) {
	testkit.Run(t, []struct{ name, why, text, want string }{
		{"no items", "all of it is the rest", "kind: Pod\na:\n- 1\n", `false  {"a":[1],"kind":"Pod"}`},
		{"items first", "the kind comes behind", "items:\n- a: 1\n- b\nkind: List\n", `true 2 {"a":1} 3 "b" {"kind":"List"}`},
		{"items last", "without a line break at the end", "kind: List\nitems:\n- a: 1\n  b: 2\n- c", `true 3 {"a":1,"b":2} 5 "c" {"kind":"List"}`},
		{"deeper", "items may stand to the right", "items:\n  - a: 1\n    b:\n    - 2\n  - c\nz: 1\n", `true 2 {"a":1,"b":[2]} 5 "c" {"z":1}`},
		{"comments and blanks", "in front of the items, between them and behind", "items: # c\n# d\n\n - a\n\n# e\n - b\n # f\nz: 1\n", `true 4 "a" 7 "b" {"z":1}`},
		{"a word that begins alike", "only the key itself", "items: [1]\nitemsx:\n- a\n", `false  {"items":[1],"itemsx":["a"]}`},
		{"not at the margin", "items of something else", "spec:\n  items:\n  - a\n", `false  {"spec":{"items":["a"]}}`},
		{"an empty item", "a dash alone", "items:\n-\n- b\n", `true 2 null 3 "b" `},
		{"a map in place of a list", "a list in block style", "items:\n  a: 1\n", "items: Invalid value: must be a list in block style, one item after the other"},
		{"a dash without a blank", "is a word", "items:\n-a\n", "items: Invalid value: must be a list in block style, one item after the other"},
		{"twice", "behind the list", "items:\n- a\nb: 1\nitems:\n- c\n", "items: Duplicate value: the key stands twice"},
		{"twice, the first elsewhere", "inside an item it is another key", "items:\n- items:\n  - a\n", `true 2 {"items":["a"]} `},
		{"two values", "an item to the left of the first", "items:\n - a\n- b\n", `true 2 "a" ["b"]`},
		{"wrong item", "the line is that of the text", "items:\n- a\n- b: [\n- c\n", "yaml: line 3: did not find expected node content"},
		{"wrong last item", "the line is that of the text", "items:\n- a\n- b: [\n", "yaml: line 3: did not find expected node content"},
		{"the reader of items stops", "its error comes back", "items:\n- a\n- stop\n- c\n", "stopped"},
		{"it stops at the last", "its error comes back", "items:\n- a\n- stop\n", "stopped"},
		{"it stops before the rest", "its error comes back", "items:\n- stop\nb: 1\n", "stopped"},
	}, func(t *testing.T, c struct{ name, why, text, want string }) {
		for _, size := range []int{16, 17, 4096} {
			require.Equal(t, c.want, streamedList(c.text, size))
		}
	})
	_, _, err := yamlList(bufio.NewReader(io.MultiReader(strings.NewReader("items:\n- a\n"), iotest.ErrReader(errors.New("the disk is gone")))), 1, Options{}, nil)
	require.EqualError(t, err, "the disk is gone")
	for _, text := range []string{"items:\n- " + strings.Repeat("x", 99) + "\n", "a: " + strings.Repeat("x", 99) + "\n"} {
		_, _, err = yamlList(bufio.NewReaderSize(strings.NewReader(text), 16), 1, Options{MaxSize: 100 * portion}, nil)
		require.ErrorContains(t, err, "Too long: one object may have at most 100 bytes")
	}
}

// Objects come out of a stream with the line breaks that they had, whatever the size of the buffer.
func TestStreamPieces(t *testing.T) {
	text := " \n{\"a\" :\n{\"b\": [1,\n\"}\"]},\n\"kind\":\"PodList\", \"items\" : [ {\"x\":\n1} ,\ttrue, \"a\\\"]\" ] ,\"z\":2}{\"kind\":\"Pod\",\"items\":[1]} "
	for _, size := range []int{16, 19, 64, 4096} {
		s := stream{in: bufio.NewReaderSize(strings.NewReader(text), size), line: 1}
		var items []string
		item := func(kind string, data []byte, line int) error {
			items = append(items, fmt.Sprintf("%s %d %s", kind, line, data))
			return nil
		}
		object, line, streamed, err := s.next(item)
		require.NoError(t, err)
		require.Equal(t, "{\"a\":\n{\"b\": [1,\n\"}\"]},\n\"kind\":\"PodList\",\"items\":[],\"z\":2}", string(object))
		require.True(t, streamed)
		require.Equal(t, 2, line)
		require.Equal(t, []string{"PodList 5 {\"x\":\n1}", "PodList 6 true", `PodList 6 "a\"]"`}, items)
		object, line, streamed, err = s.next(item)
		require.NoError(t, err)
		require.Equal(t, `{"kind":"Pod","items":[1]}`, string(object))
		require.False(t, streamed, "a Pod is no List")
		require.Equal(t, 6, line)
		_, _, _, err = s.next(item)
		require.ErrorIs(t, err, io.EOF)
	}
	_, _, _, err := (&stream{in: bufio.NewReader(strings.NewReader(`{"a":"` + strings.Repeat("x", 100) + `"}`)), o: Options{MaxSize: 50 * portion}}).next(nil)
	require.ErrorContains(t, err, "one object may have at most 50 bytes")
	_, _, _, err = (&stream{in: bufio.NewReader(strings.NewReader(`{"items":[1,2]}`))}).next(func(string, []byte, int) error { return errors.New("stopped") })
	require.EqualError(t, err, "stopped")
}

// Text in UTF-16 with characters of two units, in any pieces; and what is no UTF-16.
func TestWidePieces(t *testing.T) {
	text := nodeYAML + "# " + strings.Repeat("ä€😀", 300) + "\n"
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		in := wideText(order, text)
		b, err := plain(iotest.OneByteReader(strings.NewReader(in)), Options{})
		require.NoError(t, err)
		got, err := io.ReadAll(iotest.OneByteReader(b))
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		require.Equal(t, "line 6: half a character of UTF-16 at the end", strings.TrimPrefix(outcome(strings.NewReader(in+"x")), "document 1: "))
	}
	require.Contains(t, outcome(strings.NewReader("\xff\xfe\n\x00\x3d\xd8x\x00")), "line 2: Invalid value: 0xd83d: must be UTF-16")
	const empty = "standard input: is empty: must hold Kubernetes objects as YAML or JSON"
	for short, want := range map[string]string{"\xff": "document 1: line 1: Invalid value: byte 0xff: must be UTF-8", "\xff\xfe": empty, "\xfe\xff": empty, "\xef\xbb\xbf": empty, "\xef\xbb": "document 1: line 1: Invalid value: byte 0xef: must be UTF-8", "\xfe\xff\xd8\x3d": "document 1: line 1: Invalid value: 0xd83d: must be UTF-16"} {
		_, err := Read([]string{"-"}, strings.NewReader(short), Options{})
		require.ErrorContains(t, err, want, "%q", short)
	}
	for _, err := range []error{errors.New("the disk is gone"), fmt.Errorf("wrapped: %w", io.ErrNoProgress)} {
		_, got := plain(iotest.ErrReader(err), Options{})
		require.ErrorIs(t, got, err)
	}
	exact := Options{MaxSize: int64(len(nodeYAML))}
	b, err := plain(strings.NewReader(nodeYAML), exact)
	require.NoError(t, err)
	whole, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, nodeYAML, string(whole), "as long as the limit")
	exact.MaxSize--
	b, err = plain(strings.NewReader(nodeYAML), exact)
	if err == nil {
		_, err = io.ReadAll(b)
	}
	require.ErrorContains(t, err, "Too long: a file may have at most")
}

// A value that YAML and JSON write in different ways becomes the same JSON.
func TestYAMLValues(t *testing.T) {
	for text, want := range map[string]string{
		"a: \"\\x7f\"": "{\"a\":\"\x7f\"}", "a: \"\\x80\"": "{\"a\":\"\u0080\"}", "a: \"\\x1f \\\\ \\\"\"": `{"a":"\u001f \\ \""}`, "a: ' '": `{"a":" "}`, "{1: a, true: b, 2.5: c, 18446744073709551615: d}": `{"1":"a","18446744073709551615":"d","2.5":"c","true":"b"}`,
		"[1, -2, 2.5, 1e3, null, true, 18446744073709551615, 9223372036854775807]": "[1,-2,2.5,1000,null,true,18446744073709551615,9223372036854775807]",
	} {
		values, err := fromYAML([]byte(text), 1, 1<<10, nil)
		require.NoError(t, err, text)
		require.Len(t, values, 1)
		require.Equal(t, want, string(values[0]))
		require.True(t, json.Valid(values[0]))
	}
	for text, want := range map[string]string{
		"a: .nan": "Invalid value: NaN: JSON has no such number", "a: .inf": "Invalid value: +Inf: JSON has no such number",
		"\na: [\n": "yaml: line 8: did not find expected node content", "a: {1: b, '1': c}": "1: Duplicate value: the key stands twice", "a: 12345678": "too large",
	} {
		_, err := fromYAML([]byte(text), 7, 10, errors.New("too large"))
		require.EqualError(t, err, want, text)
	}
	values, err := fromYAML([]byte("a: 1234"), 1, len(`{"a":1234}`), nil)
	require.NoError(t, err, "as long as the limit")
	require.Len(t, values, 1)
}
