package report

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a text into lines of at most width characters: between words where it can, else behind a mark such as /
// or -, else anywhere. Lines after the first begin with indent blanks; at least half of the width is text.
func Wrap(text string, width, indent int) (lines []string) {
	indent = max(0, min(indent, width/2))
	for prefix := ""; ; prefix = strings.Repeat(" ", indent) {
		room := max(1, width-len(prefix))
		if utf8.RuneCountInString(text) <= room {
			return append(lines, prefix+text)
		}
		runes := []rune(text)
		at := breakAt(runes, room)
		lines = append(lines, prefix+strings.TrimRight(string(runes[:at]), " "))
		text = strings.TrimLeft(string(runes[at:]), " ")
		if text == "" {
			return lines
		}
	}
}

// breakAt returns how many characters go into a line of so much room. The text is longer than that.
func breakAt(text []rune, room int) int {
	begin := 0
	for begin < len(text) && text[begin] == ' ' {
		begin++
	}
	for at := room; at > begin; at-- {
		if text[at] == ' ' {
			return at
		}
	}
	for at := room; at > begin+room/3; at-- {
		if strings.ContainsRune("/-,:=.;&)", text[at-1]) {
			return at
		}
	}
	return max(1, room)
}

// Text returns head and text as lines of at most l.Width characters, with a line feed behind each. Lines after the first begin with as
// many blanks as head has, at least two. Without l.Width or l.Wrap it is one line. The text is escaped as [Escape] does.
func (l Layout) Text(head, text string) string {
	text = Escape(text)
	if l.Width == 0 || !l.Wrap {
		return head + text + "\n"
	}
	if len(head) < 2 {
		return strings.Join(Wrap(head+text, l.Width, 2), "\n") + "\n"
	}
	out := ""
	for _, line := range Wrap(text, l.Width-len(head), 0) {
		out += head + line + "\n"
		head = strings.Repeat(" ", len(head))
	}
	return out
}
