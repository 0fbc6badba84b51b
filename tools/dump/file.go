package dump

import (
	"errors"
	"fmt"
	"io"
)

// ErrDocuments is the error of a file that has several documents where a single document is expected.
var ErrDocuments = errors.New("must hold a single document")

// ReadFile reads the one YAML or JSON document of a file ("-" is stdin) into object, a pointer to a struct. Text may be
// packed by gzip. Errors name the file, the field path and the value. unknown has one line for each field that object does
// not have; whether that is an error is the caller's choice.
func ReadFile(path string, stdin io.Reader, object any, o Options) (unknown []string, err error) {
	data, err := ReadJSON(path, stdin, o)
	if err != nil {
		return nil, err
	}
	if unknown, err = Decode(data, object); err != nil {
		return nil, fmt.Errorf("%s: %w", named(path), oneLine(err))
	}
	for i := range unknown {
		unknown[i] = named(path) + ": " + unknown[i]
	}
	return unknown, nil
}

// ReadJSON reads the one YAML or JSON document of a file ("-" is stdin) and returns the document as JSON.
func ReadJSON(path string, stdin io.Reader, o Options) (data []byte, err error) {
	called, d, closing, err := open(path, stdin, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	for d.next() {
		line := d.line
		text, err := readDocument(d, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", called, err)
		}
		values := [][]byte{text}
		if s := (scan{data: text}); s.whole() != nil {
			if values, err = fromYAML(text, line, o.object(), o.tooLarge()); err != nil {
				return nil, fmt.Errorf("%s: %w", called, err)
			}
		}
		for _, v := range values {
			if data != nil {
				return nil, fmt.Errorf("%s: %w", called, ErrDocuments)
			}
			data = v
		}
	}
	if data == nil {
		return nil, fmt.Errorf("%s: is empty", called)
	}
	return data, nil
}

// readDocument reads a document of the size of an object.
func readDocument(in io.Reader, o Options) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, int64(o.object())+1))
	if err == nil && len(text) > o.object() {
		err = o.tooLarge()
	}
	return text, err
}

// ReadText reads a file ("-" is stdin) for a decoder that does not limit aliases: text whose aliases would make it larger
// than an object may be is an error. Other errors in the text are for the decoder to find.
func ReadText(path string, stdin io.Reader, o Options) (text []byte, err error) {
	called, in, closing, err := reading(path, stdin, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	if text, err = readDocument(in, o); err != nil {
		return nil, fmt.Errorf("%s: %w", called, err)
	}
	limit := o.tooLarge()
	if _, err := fromYAML(text, 1, o.object(), limit); err == limit {
		return nil, fmt.Errorf("%s: %w", called, limit)
	}
	return text, nil
}
