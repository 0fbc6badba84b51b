package dump

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// documents reads a text document by document. Lines that begin with "---" or "..." part documents, as in YAML; no line of
// a JSON document can begin so. Text that is not UTF-8 is an error with its line.
type documents struct {
	in    *bufio.Reader
	line  int    // of the next byte, from 1
	begun bool   // the next byte is not the first of its line
	rest  []byte // of the current piece, not read yet
	ahead []byte // what stands behind "---" on its line, which begins the next document
	cut   []byte // the first bytes of a character that the last piece ends in
	over  bool   // the document has been read
	err   error  // of the text, io.EOF at its end
	first []byte // what head returned last
}

func newDocuments(in *bufio.Reader) *documents { return &documents{in: in, line: 1} }

// next goes to the next document, which may be empty, and reports whether there is a next document. An error of the text is in the
// next document.
func (d *documents) next() bool {
	d.over, d.rest, d.ahead = false, d.ahead, nil
	return d.err != io.EOF || len(d.rest) > 0
}

// head reads up to n bytes of the current document. They are valid until the next call.
func (d *documents) head(n int) ([]byte, error) {
	d.first = d.first[:0]
	for len(d.first) < n {
		if len(d.rest) == 0 && !d.over && d.err == nil {
			d.piece()
			continue
		}
		if len(d.rest) == 0 {
			if d.err != nil && d.err != io.EOF {
				return d.first, d.err
			}
			break
		}
		k := min(len(d.rest), n-len(d.first))
		d.first, d.rest = append(d.first, d.rest[:k]...), d.rest[k:]
	}
	return d.first, nil
}

// Read reads from the current document, up to its end.
func (d *documents) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.over {
			return 0, io.EOF
		}
		if d.err != nil {
			return 0, d.err
		}
		d.piece()
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// piece reads a line, or the part of a line that fits into the buffer.
func (d *documents) piece() {
	if n := d.blankLines(); n > 0 {
		return
	}
	b, err := d.in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		d.err = err
	}
	if bad := d.utf8(b); bad != nil {
		d.err, d.rest = bad, nil
		return
	}
	first := !d.begun
	if d.begun = !bytes.HasSuffix(b, []byte("\n")); !d.begun {
		d.line++
	}
	if d.rest = b; !first || len(b) < 3 {
		return
	}
	mark, behind := string(b[:3]), b[3:]
	if (mark == "---" || mark == "...") && (len(behind) == 0 || bytes.IndexByte([]byte(" \t\r\n"), behind[0]) >= 0) {
		d.over, d.rest = true, nil
		if text := bytes.TrimSpace(behind); len(text) > 0 && text[0] != '#' {
			d.ahead = behind
		}
	}
}

// blankLines makes a piece of the lines without text that the buffer begins with, and returns its length. A line each, 200 MB of empty
// lines took 20 s.
func (d *documents) blankLines() (n int) {
	if d.begun || len(d.cut) > 0 {
		return 0
	}
	b, _ := d.in.Peek(d.in.Buffered()) // what is buffered is there
	for at := 0; at < len(b) && isBlank(b[at]); at++ {
		if b[at] == '\n' {
			n = at + 1
			d.line++
		}
	}
	_, _ = d.in.Discard(n)
	d.rest = b[:n]
	return n
}

// utf8 checks a piece. A character may be cut at its end.
func (d *documents) utf8(b []byte) error {
	ended := d.err != nil
	for len(d.cut) > 0 && len(b) > 0 && !utf8.FullRune(d.cut) {
		d.cut, b = append(d.cut, b[0]), b[1:]
	}
	if utf8.FullRune(d.cut) || ended {
		if !utf8.Valid(d.cut) {
			return d.notUTF8(d.cut[0])
		}
		d.cut = d.cut[:0]
	}
	if utf8.Valid(b) {
		return nil
	}
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			if utf8.FullRune(b) || ended {
				return d.notUTF8(b[0])
			}
			d.cut = append(d.cut, b...)
			return nil
		}
		b = b[size:]
	}
	return nil
}

func (d *documents) notUTF8(b byte) error {
	return fmt.Errorf("line %d: Invalid value: byte %#x: must be UTF-8", d.line, b)
}
