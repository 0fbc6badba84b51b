package anonymise

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// book has the names of one class.
type book struct {
	prefix string
	seen   map[string]bool
	new    map[string]string // by old name
	old    map[string]string // by new name
}

func newBook(prefix string) *book {
	return &book{prefix: prefix, seen: map[string]bool{}, new: map[string]string{}, old: map[string]string{}}
}

func (b *book) see(name string) { b.seen[name] = true }

// close makes the new names, which sort as the old ones do. A "/" behind the names decides, because programs sort
// NAMESPACE/NAME.
func (b *book) close() {
	names := slices.SortedFunc(maps.Keys(b.seen), func(x, y string) int { return cmp.Compare(x+"/", y+"/") })
	digits := max(3, len(fmt.Sprint(len(names))))
	for k, name := range names {
		b.set(name, fmt.Sprintf("%s%0*d", b.prefix, digits, k+1))
	}
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
var token = regexp.MustCompile(`registry\.example/image-\d{3,}:v1|node-\d{3,}|ns-\d{3,}|key-\d{3,}|vol-\d{3,}|[xv]\d{3,}`)

// Back returns a text with the old names in it.
func (n *Names) Back(text string) string {
	return token.ReplaceAllStringFunc(text, func(word string) string {
		for _, names := range []map[string]string{n.Image, n.Node, n.Namespace, n.Key, n.Volume, n.Object, n.Value} {
			if old, ok := names[word]; ok {
				return old
			}
		}
		return word
	})
}
