package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/podberth/podberth/resources"
)

// scan walks over one JSON value once. It refuses what decoders accept silently: a key twice in an object, half a
// surrogate pair, more nesting than maxNesting. It notes what the reader wants to know before it decodes.
type scan struct {
	data []byte
	at   int
	path []step   // of the value that at is in
	keys [][]byte // of the objects that at is in

	kind, apiVersion []byte // values of the outermost object, nil without
	items            bool   // the outermost object has items that are a list
	numbers          bool   // some text looks like a number that is expensive to parse
}

// step is a part of a path: the name of a field, or without one the index of an item.
type step struct {
	name  []byte
	index int
}

// String returns the step as field paths are written.
func (p step) String() string {
	if p.name == nil {
		return "[" + strconv.Itoa(p.index) + "]"
	}
	return "." + string(p.name)
}

// errShort is the error of a value that ends too early.
var errShort = errors.New("the JSON ends too early")

// syntaxError is the error of text that is no JSON.
type syntaxError struct{ at int }

// Error says what is wrong.
func (e syntaxError) Error() string { return "not JSON" }

// value reads the value at s.at and stops behind it.
func (s *scan) value(depth int) error {
	if depth > maxNesting {
		return s.refuse("Too many: objects and lists may be nested %d deep", maxNesting)
	}
	if s.blanks(); s.at == len(s.data) {
		return errShort
	}
	switch c := s.data[s.at]; {
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.list(depth)
	case c == '"':
		text, err := s.text()
		if err == nil {
			s.number(text[1 : len(text)-1])
		}
		return err
	case c == '-' || c >= '0' && c <= '9':
		from := s.at
		for s.at < len(s.data) && strings.IndexByte("+-.eE0123456789", s.data[s.at]) >= 0 {
			s.at++
		}
		s.number(s.data[from:s.at])
		return nil
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if n := len(word); len(s.data)-s.at >= n && string(s.data[s.at:s.at+n]) == word {
			s.at += n
			return nil
		} else if strings.HasPrefix(word, string(s.data[s.at:min(len(s.data), s.at+n)])) {
			return errShort
		}
	}
	return syntaxError{s.at}
}

// number notes text that is expensive to parse as a quantity.
func (s *scan) number(text []byte) {
	if !s.numbers && len(text) > 0 {
		switch c := text[0]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.':
			s.numbers = len(text) > resources.MaxQuantityLength || resources.HugeExponent(text) || bytes.ContainsRune(text, '\\')
		case c == ' ' || c == '\\':
			s.numbers = true
		}
	}
}

func (s *scan) blanks() {
	for s.at < len(s.data) && isBlank(s.data[s.at]) {
		s.at++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// expect reads one character and the blanks before it.
func (s *scan) expect(c byte) error {
	if s.blanks(); s.at == len(s.data) {
		return errShort
	}
	if s.data[s.at] != c {
		return syntaxError{s.at}
	}
	s.at++
	return nil
}

// more reads the comma or the bracket behind an item.
func (s *scan) more(bracket byte) (bool, error) {
	if err := s.expect(','); err == nil || err == errShort {
		return err == nil, err
	}
	return false, s.expect(bracket)
}

func (s *scan) object(depth int) error {
	s.at++
	base := len(s.keys)
	defer func() { s.keys = s.keys[:base] }()
	if s.expect('}') == nil {
		return nil
	}
	var many map[string]bool // of the keys, when a list of them would take long to search
	for {
		if s.blanks(); s.at == len(s.data) {
			return errShort
		}
		text, err := s.text()
		if err != nil {
			return err
		}
		name := text[1 : len(text)-1]
		if bytes.ContainsRune(name, '\\') {
			var plain string
			if json.Unmarshal(text, &plain) != nil {
				return syntaxError{s.at}
			}
			name = []byte(plain)
		}
		s.path = append(s.path, step{name: name})
		if many[string(name)] || many == nil && hasKey(s.keys[base:], name) {
			return s.refuse("Duplicate value: the key stands twice")
		}
		if s.keys = append(s.keys, name); len(s.keys)-base > 32 {
			if many == nil {
				many = map[string]bool{}
				for _, k := range s.keys[base:] {
					many[string(k)] = true
				}
			}
			many[string(name)] = true
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		s.blanks()
		from := s.at
		if err := s.value(depth + 1); err != nil {
			return err
		}
		if depth == 0 {
			switch string(name) {
			case "kind":
				s.kind = s.data[from:s.at]
			case "apiVersion":
				s.apiVersion = s.data[from:s.at]
			case "items":
				s.items = s.data[from] == '['
			}
		}
		s.path = s.path[:len(s.path)-1]
		if more, err := s.more('}'); err != nil || !more {
			return err
		}
	}
}

func hasKey(keys [][]byte, name []byte) bool {
	for _, k := range keys {
		if string(k) == string(name) {
			return true
		}
	}
	return false
}

func (s *scan) list(depth int) error {
	s.at++
	if s.expect(']') == nil {
		return nil
	}
	for i := 0; ; i++ {
		s.path = append(s.path, step{index: i})
		if err := s.value(depth + 1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		if more, err := s.more(']'); err != nil || !more {
			return err
		}
	}
}

// text reads a string and returns it with its quotes.
func (s *scan) text() ([]byte, error) {
	from := s.at
	if s.data[s.at] != '"' {
		return nil, syntaxError{s.at}
	}
	for s.at++; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[from:s.at], nil
		case c < ' ':
			return nil, syntaxError{s.at}
		case c == '\\':
			if s.at++; s.at == len(s.data) {
				return nil, errShort
			}
			if s.data[s.at] == 'u' {
				if err := s.surrogate(); err != nil {
					return nil, err
				}
			}
		}
	}
	return nil, errShort
}

// surrogate checks the escaped character that at is in: half a pair is no character.
func (s *scan) surrogate() error {
	unit, err := s.hex(s.at + 1)
	if err != nil || unit < 0xd800 || unit > 0xdfff {
		s.at += 4
		return err
	}
	if unit < 0xdc00 && len(s.data)-s.at > 6 && s.data[s.at+5] == '\\' && s.data[s.at+6] == 'u' {
		if low, err := s.hex(s.at + 7); err != nil || low >= 0xdc00 && low <= 0xdfff {
			s.at += 10
			return err
		}
	}
	return s.refuse("Invalid value: \\u%04x: must be UTF-8, which has no half of a surrogate pair", unit)
}

func (s *scan) hex(at int) (uint64, error) {
	if at+4 > len(s.data) {
		return 0, errShort
	}
	n, err := strconv.ParseUint(string(s.data[at:at+4]), 16, 32)
	if err != nil {
		return 0, syntaxError{at}
	}
	return n, nil
}

// refuse returns an error that names the field and the line within the value.
func (s *scan) refuse(format string, args ...any) error {
	path := ""
	for _, p := range s.path[:min(len(s.path), 20)] {
		path += p.String()
	}
	if path = strings.TrimPrefix(path, "."); path != "" {
		path += ": "
	}
	return refusal{bytes.Count(s.data[:s.at], []byte("\n")), path + fmt.Sprintf(format, args...)}
}

// refusal is an error of a value that is JSON.
type refusal struct {
	line int // counted from that of the value
	text string
}

// Error returns the text.
func (e refusal) Error() string { return e.text }

// whole reads a value that is all of the data.
func (s *scan) whole() error {
	err := s.value(0)
	if s.blanks(); err == nil && s.at < len(s.data) {
		err = syntaxError{s.at}
	}
	return err
}
