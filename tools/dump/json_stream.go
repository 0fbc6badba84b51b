package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// stream reads JSON objects one after the other. The items of a List are handed on one by one, so that a List of any
// length takes the memory of its largest item.
type stream struct {
	in   *bufio.Reader
	line int // of the next byte
	gone int // line breaks that peek has left out and pad has not put back
	o    Options
}

// next returns the next object and its line, io.EOF without one. A List that is not known to be something else by its kind
// comes with an empty list of items; item has been called with each of them.
func (s *stream) next(item func(kind string, data []byte, line int) error) (object []byte, line int, streamed bool, err error) {
	c, err := s.peek()
	if err != nil {
		return nil, s.line, false, err
	}
	line = s.line
	if c != '{' {
		value, err := s.value(nil)
		if err == nil {
			err = notAnObject(value)
		}
		return nil, line, false, err
	}
	s.gone = 0
	object, kind := []byte{s.take()}, ""
	for first := true; ; first = false {
		if c, err = s.peek(); err != nil {
			return nil, s.line, false, short0(err)
		}
		object = s.pad(object)
		switch {
		case c == '}':
			return append(object, s.take()), line, streamed, nil
		case !first && c == ',':
			object = append(object, s.take())
			c, err = s.peek()
			object = s.pad(object)
		}
		if err == nil && c != '"' {
			err = syntaxError{}
		}
		if err != nil {
			return nil, s.line, false, short0(err)
		}
		from := len(object)
		if object, err = s.value(object); err != nil {
			return nil, s.line, false, err
		}
		var name string
		if json.Unmarshal(object[from:], &name) != nil {
			return nil, s.line, false, syntaxError{}
		}
		if c, err = s.peek(); err != nil || c != ':' {
			return nil, s.line, false, short0(errors.Join(err, syntaxError{}))
		}
		object = append(object, s.take())
		if c, err = s.peek(); err != nil {
			return nil, s.line, false, short0(err)
		}
		object = s.pad(object)
		if name == "items" && c == '[' && (kind == "" || isList(kind)) {
			streamed = true
			if err := s.items(func(data []byte, line int) error { return item(kind, data, line) }); err != nil {
				return nil, s.line, false, err
			}
			object = s.pad(append(object, "[]"...))
			continue
		}
		from = len(object)
		if object, err = s.value(object); err != nil {
			return nil, s.line, false, err
		}
		if name == "kind" {
			_ = json.Unmarshal(object[from:], &kind) // the reader of the object refuses another type
		}
	}
}

// short0 turns the end of the text into the error of a value that ends too early.
func short0(err error) error {
	if errors.Is(err, io.EOF) {
		return errShort
	}
	return err
}

// items reads a list and hands on its items.
func (s *stream) items(item func(data []byte, line int) error) error {
	s.take()
	var data []byte
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return short0(err)
		}
		if first && c == ']' {
			s.take()
			return nil
		}
		line := s.line
		if data, err = s.value(data[:0]); err != nil {
			return err
		}
		if err := item(data, line); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return short0(err)
		}
		switch s.take(); c {
		case ']':
			return nil
		case ',':
		default:
			return syntaxError{}
		}
	}
}

// peek returns the next byte that is not blank.
func (s *stream) peek() (byte, error) {
	for {
		b, err := s.in.Peek(1)
		if err != nil {
			return 0, err
		}
		if !isBlank(b[0]) {
			return b[0], nil
		}
		b, _ = s.in.Peek(s.in.Buffered()) // what is buffered is there
		n := 0
		for ; n < len(b) && isBlank(b[n]); n++ {
			if b[n] == '\n' {
				s.line++
				s.gone++
			}
		}
		_, _ = s.in.Discard(n)
	}
}

// pad appends the line breaks that peek has left out, so that errors in an object can name its lines.
func (s *stream) pad(object []byte) []byte {
	for ; s.gone > 0 && len(object) < s.o.object(); s.gone-- {
		object = append(object, '\n')
	}
	return object
}

// take reads a byte that peek has seen.
func (s *stream) take() byte {
	c, _ := s.in.ReadByte()
	if c == '\n' {
		s.line++
	}
	return c
}

// value appends the next value to dst: up to the bracket that closes it, to the quote, or to what ends a word. Whether it
// is JSON is the question of scan.
func (s *stream) value(dst []byte) ([]byte, error) {
	depth, quoted, escaped, word := 0, false, false, false
	for {
		if _, err := s.in.Peek(1); err != nil {
			if err == io.EOF && word {
				return dst, nil
			}
			return nil, short0(err)
		}
		chunk, _ := s.in.Peek(s.in.Buffered())
		for i, c := range chunk {
			end := 0 // bytes of the chunk, once the value is over
			switch {
			case escaped:
				escaped = false
			case quoted:
				escaped = c == '\\'
				if quoted = c != '"'; !quoted && depth == 0 {
					end = i + 1
				}
			case word:
				if isBlank(c) || c == ',' || c == ']' || c == '}' || c == ':' {
					return s.keep(dst, chunk[:i])
				}
			case c == '"':
				quoted = true
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				if depth--; depth < 0 {
					return nil, syntaxError{}
				}
				if depth == 0 {
					end = i + 1
				}
			case depth == 0:
				word = true
			}
			if end > 0 {
				return s.keep(dst, chunk[:end])
			}
		}
		var err error
		if dst, err = s.keep(dst, chunk); err != nil {
			return nil, err
		}
	}
}

// keep appends a part of what is buffered and goes on behind it.
func (s *stream) keep(dst, part []byte) ([]byte, error) {
	if len(dst)+len(part) > s.o.object() {
		return nil, s.o.tooLarge()
	}
	dst = append(dst, part...)
	s.line += bytes.Count(part, []byte("\n"))
	_, err := s.in.Discard(len(part))
	return dst, err
}
