package anonymise

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// book has the names of one class.
type book struct {
	prefix string
	after  string // what decides the order behind a name
	seen   map[string]bool
	new    map[string]string // by old name
	old    map[string]string // by new name

	kept  map[string]bool   // names that stay
	group map[string]string // names that are spelled alike, by one of them
	words bool              // numbers are written in letters: names that differ in numbers are never meant by each other
	tails map[string]string // what a name keeps behind its slash
}

func newBook(prefix string) *book {
	return &book{prefix: prefix, seen: map[string]bool{}, new: map[string]string{}, old: map[string]string{}, kept: map[string]bool{}, group: map[string]string{}, tails: map[string]string{}}
}

func (b *book) see(name string) { b.seen[name] = true }

// close makes the new names, which sort as the old ones do, among each other and with the names that stay.
func (b *book) close() {
	names := slices.SortedFunc(maps.Keys(b.seen), func(x, y string) int { return cmp.Compare(x+b.after, y+b.after) })
	digits := max(3, len(fmt.Sprint(len(names))))
	kept := slices.Sorted(maps.Keys(b.kept))
	codes := map[string]string{}
	for k, name := range names {
		before, next := "", ""
		at, _ := slices.BinarySearch(kept, name)
		if at > 0 {
			before = kept[at-1]
		}
		if at < len(kept) {
			next = kept[at]
		}
		group := b.group[name]
		if group != "" && codes[group] == "" {
			codes[group] = code(len(codes))
		}
		number := fmt.Sprintf("%0*d", digits, k+1)
		if b.words {
			number = word(k+1, len(names))
		}
		b.set(name, between(before, next, b.prefix)+b.prefix+number+codes[group]+b.tails[name])
	}
}

// word writes a number in letters, with a mark that no word has behind it. Two of at most 675 numbers differ in two letters, so that one is meant
// by the other where nothing else differs.
func word(n, of int) string {
	digits := 2
	for most := 26 * 26; most <= of; most *= 26 {
		digits++
	}
	out := make([]byte, digits)
	for i := range out {
		out[digits-1-i] = byte('a' + n%26)
		n /= 26
	}
	return string(out) + "0"
}

// between returns the text to put in front of a prefix: with the text, the prefix sorts after the name before and ahead of the name
// next. An empty next sets no limit. The text is empty if the prefix sorts there by itself, and if no letter helps.
func between(before, next, prefix string) string {
	fits := func(front string) bool {
		return before < front+prefix && (next == "" || front+prefix+"~" < next)
	}
	same := 0
	for same < min(len(before), len(next)) && before[same] == next[same] {
		same++
	}
	for _, front := range append([]string{""}, strings.Split("abcdefghijklmnopqrstuvwxyz", "")...) {
		if front != "" {
			front = next[:same] + front
		}
		if fits(front) {
			return front
		}
	}
	return ""
}

func (b *book) set(name, new string) { b.new[name], b.old[new] = new, name }

// close makes all new names. Names that controllers make of others keep that form: the pods of StatefulSets and the claims of
// ephemeral volumes.
func (w *walker) close(list []Tree) error {
	w.books[imageName].prefix = "registry.example/image-"
	for _, b := range w.books {
		b.close()
	}
	for name := range w.books[imageName].seen { // with a tag, which every image has
		b := w.books[imageName]
		delete(b.old, b.new[name])
		b.set(name, b.new[name]+":v1")
	}
	w.closed = true
	return w.derive(list)
}

// token is a new name where it is a word of its own, or a part of a name.
var token = regexp.MustCompile(`registry\.example/image-\d{3,}:v1|node-(\d{3,}|[a-z]{2,}0)(-[a-z]{24})?|ns-\d{3,}|[-.a-z]*key-(\d{3,}|[a-z]{2,}0)(-[a-z]{24})?(/[-._A-Za-z0-9]*[A-Za-z0-9])?|vol-\d{3,}|[xv](\d{3,}|[a-z]{2,}0)(-[a-z]{24})?`)

// Back returns a text with the old names in it.
func (n *Names) Back(text string) string {
	books := []map[string]string{n.Image, n.Node, n.Namespace, n.Key, n.Volume, n.Object, n.Value}
	return token.ReplaceAllStringFunc(text, func(word string) string {
		for size := len(word); size > 0; size-- { // the word may have more around the name
			for from := range len(word) - size + 1 {
				for _, names := range books {
					if old, ok := names[word[from:from+size]]; ok {
						return word[:from] + old + word[from+size:]
					}
				}
			}
		}
		return word
	})
}
