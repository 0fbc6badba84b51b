package dump

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/resources"
)

// jsonTexts are JSON with every kind of value.
var jsonTexts = []string{
	`{"kind":"List","apiVersion":"v1","items":[{"a":-1.5e+3,"b":[true,false,null,[],{}]}, "x" , 0 ]}`,
	"{ \"a\" : \"\\\"\\\\\\/\\b\\n\\u0041\\ud83d\\ude00\\ud800\\udc00\\udbff\\udfff\",\r\n\t\"b\":[ 1 , 2\t]\n}",
	`[{"kind":"inner","items":3}]`, `"text"`, `12`, `{}`, `[]`, `{"items":{},"kind":7}`,
}

// The walk agrees with encoding/json: JSON passes, what is cut ends too early, and a changed byte is not taken for JSON unless it
// makes a number or an escape that the decoder refuses later.
func TestScanAgreesWithJSON(t *testing.T) {
	for _, text := range jsonTexts {
		require.True(t, json.Valid([]byte(text)))
		s := scan{data: []byte(text)}
		require.NoError(t, s.whole(), text)
		require.Equal(t, len(text), s.at)
		var top map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &top) == nil {
			require.Equal(t, string(top["kind"]), string(s.kind), text)
			require.Equal(t, string(top["apiVersion"]), string(s.apiVersion), text)
			require.Equal(t, strings.HasPrefix(string(top["items"]), "["), s.items, text)
		} else {
			require.Empty(t, string(s.kind)+string(s.apiVersion), text)
			require.False(t, s.items, text)
		}
		for n := range len(text) {
			cut := scan{data: []byte(text[:n])}
			if err := cut.whole(); !json.Valid([]byte(text[:n])) {
				var half refusal // of a pair of code units that is cut in the middle
				require.True(t, errors.Is(err, errShort) || errors.As(err, &half) && strings.Contains(half.text, "surrogate"), "%s: %v", text[:n], err)
			} else {
				require.NoError(t, err)
			}
		}
		for n := range len(text) {
			for _, c := range "{}[],:\"\\ \n\r\t\x000129-+.eEtfnulLdD/" {
				changed := []byte(text)
				changed[n] = byte(c)
				walk := scan{data: changed}
				err := walk.whole()
				var refused refusal
				if json.Valid(changed) {
					require.True(t, err == nil || errors.As(err, &refused), "%s: %v", changed, err)
				} else if err == nil {
					require.True(t, lenient(changed), "%s", changed)
				}
			}
		}
	}
}

// lenient reports whether text becomes JSON when every number is 1 and every escape is \n: the walk leaves the inside of both to
// the decoder.
func lenient(text []byte) bool {
	var out strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			out.WriteByte(c)
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					out.WriteString(`\n`)
					i++
				} else {
					out.WriteByte(text[i])
				}
			}
			out.WriteByte('"')
			i++
		case c == '-' || c >= '0' && c <= '9':
			for i < len(text) && strings.IndexByte("+-.eE0123456789", text[i]) >= 0 {
				i++
			}
			out.WriteByte('1')
		default:
			out.WriteByte(c)
			i++
		}
	}
	return json.Valid([]byte(out.String()))
}

// Every pair of escaped code units is taken when it is a character and refused when it has half of a pair.
func TestSurrogates(t *testing.T) {
	units := []int{0x0000, 0x0041, 0xd7ff, 0xd800, 0xd801, 0xdbff, 0xdc00, 0xdc01, 0xdfff, 0xe000, 0xffff}
	for _, a := range units {
		for _, b := range units {
			for _, middle := range []string{"", "x", `\n`} {
				text := fmt.Sprintf(`"\u%04x%s\u%04X"`, a, middle, b)
				var decoded string
				require.NoError(t, json.Unmarshal([]byte(text), &decoded))
				half := strings.ContainsRune(decoded, utf8.RuneError)
				s := scan{data: []byte(text)}
				err := s.whole()
				require.Equal(t, half, err != nil, "%s", text)
				if half {
					require.ErrorContains(t, err, "must be UTF-8, which has no half of a surrogate pair")
				}
			}
		}
	}
}

// Every text that is expensive as a quantity is noted, as a number and as a string.
func TestNumbersAreNoted(t *testing.T) {
	for _, text := range []string{"1e999", "-1e999", "+1e999", ".1e999", "0e999", "9e999", " 1e999", `1e999`, "1e-999", strings.Repeat("7", 65), strings.Repeat("0", 65), `9\u0065999`, `+\u0031e999`, `-\u0031e999`, `.1\u0065999`} {
		var plain string
		require.NoError(t, json.Unmarshal([]byte(`"`+text+`"`), &plain))
		require.Error(t, resources.CheckQuantity(strings.TrimSpace(plain)), text)
		s := scan{data: []byte(`{"a":"` + text + `"}`)}
		require.NoError(t, s.whole())
		require.True(t, s.numbers, text)
		if c := text[0]; !strings.Contains(text, `\u`) && (c == '-' || c >= '0' && c <= '9') {
			s = scan{data: []byte(`[` + text + `,1]`)}
			require.NoError(t, s.whole())
			require.True(t, s.numbers, text)
		}
	}
	for _, text := range []string{"", "1", "-1.5Gi", "12:34", "x1e999", strings.Repeat("7", 64), "a" + strings.Repeat("7", 99), `a\n1e999`} {
		s := scan{data: []byte(`{"a":"` + text + `"}`)}
		require.NoError(t, s.whole())
		require.False(t, s.numbers, text)
	}
}

// The place of a refusal is the field's path and the line of the value. Objects with many keys are searched as well.
func TestRefusals(t *testing.T) {
	for n := range 40 {
		s := scan{data: []byte("{\n" + keys(n) + `"x":1,"y":[0,{"x":` + "\n" + `{"b":1,"b":2}}],"z":1}`)}
		var refused refusal
		require.ErrorAs(t, s.whole(), &refused)
		require.Equal(t, refusal{2, "y[1].x.b: Duplicate value: the key stands twice"}, refused)
		if n > 0 {
			for _, k := range []int{0, n / 2, n - 1} {
				s = scan{data: []byte(`{` + keys(n) + fmt.Sprintf(`"k%d":{}}`, k))}
				require.ErrorAs(t, s.whole(), &refused)
				require.Equal(t, refusal{0, fmt.Sprintf("k%d: Duplicate value: the key stands twice", k)}, refused)
			}
		}
	}
	for depth, fine := range map[int]bool{maxNesting: true, maxNesting + 1: false} {
		s := scan{data: []byte(strings.Repeat("[", depth) + "0" + strings.Repeat("]", depth))}
		require.Equal(t, fine, s.whole() == nil, "%d", depth)
	}
}
