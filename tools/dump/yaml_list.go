package dump

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// yamlList reads a long YAML document line by line. The items of a block list below the key "items" are handed on one by
// one, as JSON; frame is the rest of the document, without the key. An anchor is not known in other items.
func yamlList(in *bufio.Reader, line int, o Options, item func(data []byte, line int) error) (frame []byte, streamed bool, err error) {
	const (
		before = iota // in front of the items
		first         // behind the line "items:"
		inside
		behind
	)
	state, indent, begun := before, 0, 0
	var chunk []byte
	flush := func() error {
		values, err := fromYAML(chunk, begun, o.object(), o.tooLarge())
		switch {
		case err != nil:
			return err
		case len(values) != 1 || values[0][0] != '[':
			return notAnObject(chunk)
		}
		chunk = chunk[:0]
		return item(values[0][1:len(values[0])-1], begun)
	}
	for start := true; ; {
		piece, err := in.ReadSlice('\n')
		whole := err == nil
		if err != nil && err != bufio.ErrBufferFull && err != io.EOF {
			return nil, false, err
		}
		if start {
			text := bytes.TrimLeft(piece, " ")
			depth := len(piece) - len(text)
			dash := len(text) > 0 && text[0] == '-' && (len(text) == 1 || isBlank(text[1]))
			plain := len(bytes.TrimSpace(text)) == 0 || text[0] == '#'
			switch {
			case state == before && isItems(piece):
				state, piece = first, []byte("\n")
			case state == first && !plain && dash:
				state, indent, begun, streamed = inside, depth, line, true
			case state == first && !plain:
				return nil, false, errors.New("items: Invalid value: must be a list in block style, one item after the other")
			case state == inside && !plain && dash && depth == indent:
				if err := flush(); err != nil {
					return nil, false, err
				}
				begun = line
			case state == inside && !plain && depth <= indent:
				if err := flush(); err != nil {
					return nil, false, err
				}
				state = behind
			case state == behind && isItems(piece):
				return nil, false, errors.New("items: Duplicate value: the key stands twice")
			}
		}
		if state == inside {
			chunk = append(chunk, piece...)
		} else {
			frame = append(frame, piece...)
		}
		if max(len(chunk), len(frame)) > o.object() {
			return nil, false, o.tooLarge()
		}
		if start = whole; whole {
			line++
		}
		if err == io.EOF {
			break
		}
	}
	if state == inside {
		if err := flush(); err != nil {
			return nil, false, err
		}
	}
	return frame, streamed, nil
}

// isItems reports whether a line is the key "items" of a block.
func isItems(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("items:"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}
