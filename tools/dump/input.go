package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// headSize is how much of a document is looked at to tell JSON from YAML. YAML documents up to that size are read whole.
const headSize = 1 << 20

// sink takes what is in a text, in its order.
type sink interface {
	// object takes one object; streamed says that the items of the List it is went to item.
	object(data []byte, at position, streamed bool) error
	// item takes an item of the List that is being read. Its kind is "" while the kind is unknown.
	item(kind string, data []byte, at position) error
}

// position is where an object stands.
type position struct {
	file           string
	document, line int
}

// String returns the file and the number of the document.
func (p position) String() string { return fmt.Sprintf("%s: document %d", p.file, p.document) }

// fail puts the place in front of an error. Errors about JSON get the line.
func (p position) fail(err error) error {
	var syntax syntaxError
	var bad refusal
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%v: line %d: not JSON: a comma, a bracket or a quote is wrong, or something stands behind the object", p, p.line)
	case errors.As(err, &bad):
		return fmt.Errorf("%v: line %d: %w", p, p.line+bad.line, err)
	}
	return fmt.Errorf("%v: %w", p, err)
}

// open returns the documents of a file ("-" is stdin), what to call the file, and what closes it.
func open(path string, stdin io.Reader, o Options) (called string, d *documents, closing func() error, err error) {
	called, text, closing, err := reading(path, stdin, o)
	if err != nil {
		return called, nil, nil, err
	}
	return called, newDocuments(text), closing, nil
}

// reading returns the text of a file.
func reading(path string, stdin io.Reader, o Options) (called string, text *bufio.Reader, closing func() error, err error) {
	called, in, closing := "standard input", stdin, func() error { return nil }
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return path, nil, nil, err
		}
		called, in, closing = path, f, f.Close
	} else if stdin == nil {
		in = bytes.NewReader(nil)
	}
	if o.Progress != nil {
		in = &counted{in: in, total: size(in), tell: o.Progress}
	}
	if text, err = plain(in, o); err != nil {
		return called, nil, nil, fmt.Errorf("%s: %w", called, errors.Join(err, closing()))
	}
	return called, text, closing, nil
}

// counted tells how much of a file has been read.
type counted struct {
	in          io.Reader
	done, total int64
	tell        func(done, total int64)
}

// Read reads the file.
func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.in.Read(p)
	c.done += int64(n)
	switch {
	case err == io.EOF:
		c.tell(c.done, c.done)
	case c.done < c.total || c.total == 0 && c.done > 0:
		c.tell(c.done, c.total)
	}
	return n, err
}

// size returns the bytes of a file, 0 of what is no file.
func size(in io.Reader) int64 {
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return 0
}

// feed reads a file into a sink and returns how many documents it had.
func feed(path string, stdin io.Reader, o Options, to sink) (count int, err error) {
	called, d, closing, err := open(path, stdin, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	at := position{file: called}
	for d.next() {
		if err := at.read(d, o, to); err != nil {
			return at.document, err
		}
	}
	return at.document, nil
}

// read reads the current document of d, which may be a stream of JSON objects.
func (p *position) read(d *documents, o Options, to sink) error {
	p.line = d.line
	head, err := d.head(headSize)
	p.document++
	if err != nil {
		return p.fail(err)
	}
	p.document--
	whole := len(head) < headSize
	if whole && isEmpty(head) {
		return nil
	}
	if looksLikeJSON(head, whole) {
		return p.json(io.MultiReader(bytes.NewReader(head), d), o, to)
	}
	if whole {
		values, err := fromYAML(head, p.line, o.object(), o.tooLarge())
		for _, v := range values {
			p.document++
			if err := p.value(v, o, to); err != nil {
				return err
			}
		}
		if err != nil {
			p.document++
			if text := foreign(head); text != "" {
				return fmt.Errorf("%v: %s", *p, text)
			}
			return p.fail(err)
		}
		return nil
	}
	p.document++
	at := *p
	frame, streamed, err := yamlList(bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), d), 64<<10), p.line, o, func(data []byte, line int) error {
		at.line = line
		return sunk(to.item("", data, at))
	})
	if err != nil {
		return p.unless(err)
	}
	values, err := fromYAML(frame, p.line, o.object(), o.tooLarge())
	if err == nil && len(values) != 1 {
		err = refuse("Invalid value", "must be one object")
	}
	if err != nil {
		return p.fail(err)
	}
	if streamed {
		return to.object(values[0], *p, true)
	}
	return p.value(values[0], o, to)
}

// value reads one JSON value that was made of YAML.
func (p *position) value(v []byte, o Options, to sink) error {
	if v[0] != '{' {
		return p.fail(notAnObject(v))
	}
	s := stream{in: bufio.NewReader(bytes.NewReader(v)), line: p.line, o: o}
	return p.next(&s, to)
}

// json reads JSON objects to the end of the text.
func (p *position) json(in io.Reader, o Options, to sink) error {
	s := stream{in: bufio.NewReaderSize(in, 64<<10), line: p.line, o: o}
	for {
		if _, err := s.peek(); err != nil {
			if err == io.EOF {
				return nil
			}
			p.document++
			return p.fail(err)
		}
		p.document++
		if err := p.next(&s, to); err != nil {
			return err
		}
	}
}

// next reads the next object of a stream.
func (p *position) next(s *stream, to sink) error {
	object, line, streamed, err := s.next(func(kind string, data []byte, line int) error {
		return sunk(to.item(kind, data, position{p.file, p.document, line}))
	})
	p.line = line
	if err != nil {
		return p.unless(err)
	}
	return to.object(object, *p, streamed)
}

// fromSink marks an error that says where it is.
type fromSink struct{ error }

func sunk(err error) error {
	if err != nil {
		return fromSink{err}
	}
	return nil
}

// unless puts the place in front of an error that is not from the sink.
func (p position) unless(err error) error {
	var s fromSink
	if errors.As(err, &s) {
		return s.error
	}
	return p.fail(err)
}

// isEmpty reports whether a document has nothing but blanks and comments.
func isEmpty(text []byte) bool {
	for {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
		if text = rest; !more {
			return true
		}
	}
}

// looksLikeJSON reports whether the text is a stream of JSON objects, as far as it goes.
func looksLikeJSON(text []byte, whole bool) bool {
	s := scan{data: text}
	for n := 0; ; n++ {
		if s.blanks(); s.at == len(text) {
			return n > 0 || !whole
		}
		if text[s.at] != '{' {
			return false
		}
		s.path, s.keys = s.path[:0], s.keys[:0]
		if err := s.value(0); err != nil {
			var bad syntaxError
			return !errors.As(err, &bad)
		}
	}
}

// notAnObject says that a document is something else.
func notAnObject(value []byte) error {
	if text := patched(value); text != "" {
		return errors.New(text)
	}
	return fmt.Errorf("not a Kubernetes object: Invalid value: %s: must be an object with apiVersion and kind", short(string(bytes.TrimSpace(value))))
}
