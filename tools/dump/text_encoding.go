package dump

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// plain returns the text of a file as UTF-8: unpacked when it begins as gzip does, converted from UTF-16 when it begins
// with that byte order mark. Reading more than the limit of a file is an error.
func plain(in io.Reader, o Options) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(in, 64<<10)
	if magic, err := b.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, 64<<10)
	}
	b = bufio.NewReaderSize(&limited{b, o.file(), o}, 64<<10)
	mark, err := b.Peek(3)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var order binary.ByteOrder
	switch {
	case string(mark) == "\xef\xbb\xbf":
		_, _ = b.Discard(len(mark)) // Peek has read it
		return b, nil
	case len(mark) >= 2 && mark[0] == 0xff && mark[1] == 0xfe:
		order = binary.LittleEndian
	case len(mark) >= 2 && mark[0] == 0xfe && mark[1] == 0xff:
		order = binary.BigEndian
	default:
		return b, nil
	}
	_, _ = b.Discard(2)
	return bufio.NewReaderSize(&wide{in: b, order: order, line: 1}, 64<<10), nil
}

// limited fails when more than left bytes are read.
type limited struct {
	in   io.Reader
	left int64
	o    Options
}

// Read reads from the text.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.o.tooLong()
	}
	return n, err
}

// wide turns UTF-16 into UTF-8.
type wide struct {
	in    *bufio.Reader
	order binary.ByteOrder
	rest  []byte // converted, not read yet
	line  int
}

// Read converts what fits into p.
func (w *wide) Read(p []byte) (int, error) {
	for len(w.rest) < len(p) {
		r, err := w.rune()
		if err != nil {
			if len(w.rest) > 0 && err == io.EOF {
				break
			}
			return 0, err
		}
		if r == '\n' {
			w.line++
		}
		w.rest = utf8.AppendRune(w.rest, r)
	}
	n := copy(p, w.rest)
	w.rest = append(w.rest[:0], w.rest[n:]...)
	return n, nil
}

func (w *wide) rune() (rune, error) {
	first, err := w.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	second, err := w.unit()
	if err != nil && err != io.EOF {
		return 0, err
	}
	if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
		return r, nil
	}
	return 0, fmt.Errorf("line %d: Invalid value: %#x: must be UTF-16", w.line, first)
}

func (w *wide) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(w.in, b[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("line %d: half a character of UTF-16 at the end", w.line)
		}
		return 0, err
	}
	return rune(w.order.Uint16(b[:])), nil
}
