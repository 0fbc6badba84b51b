package anonymise

import (
	"slices"
	"strings"

	"github.com/podberth/podberth/diagnose/near"
)

// Program lint suggests names that are spelled alike in place of a name that nothing has. Names that are alike get new names that are
// alike, and a name that nothing has gets a new name that is like no other: each group of alike names has a code of its own behind the
// number. Codes of two groups differ in at least run letters, and names of one group differ in their numbers only. Where labels are meant the
// numbers are words, because names that differ in numbers are never meant.
const run = 12 // times that a letter of a code stands

// question is a name for which lint may suggest others.
type question struct {
	wrong string
	names []string
	like  like
	rule  rule                // the book of the names
	new   func(string) string // the new name of an old one
}

// like returns the names that a program says in the place of a wrong one.
type like func(wrong string, names []string) []string

// meantKey is the key of a label that is meant.
func meantKey(wrong string, keys []string) []string {
	if key := near.Key(wrong, keys); key != "" {
		return []string{key}
	}
	return nil
}

// meantValue is the value of a label that is meant.
func meantValue(wrong string, values []string) []string {
	if value, ok := near.Meant(wrong, values); ok {
		return []string{value}
	}
	return nil
}

// questions returns what lint may suggest names for: keys and values that pods ask for and no node has, keys of tolerations, and
// priority classes.
func (w *walker) questions(list []Tree) []question {
	q := asked{w: w, values: map[string][]string{}, seen: map[string]bool{}}
	for _, t := range list {
		switch t["kind"] {
		case "Node":
			labels, _ := t["metadata"].(Tree)["labels"].(Tree)
			for k, v := range labels {
				text, _ := v.(string)
				q.values[k] = append(q.values[k], text)
			}
			spec, _ := t["spec"].(Tree)
			taints, _ := spec["taints"].([]any)
			for _, x := range taints {
				q.taints = append(q.taints, x.(Tree))
			}
		case "PriorityClass":
			q.classes = append(q.classes, text(t, "metadata", "name"))
		}
	}
	for k, values := range q.values {
		slices.Sort(values)
		q.keys, q.values[k] = append(q.keys, k), slices.Compact(values)
	}
	for _, t := range list {
		q.below(t)
	}
	return q.out
}

// asked collects questions.
type asked struct {
	w             *walker
	keys, classes []string
	values        map[string][]string // of the nodes' labels
	taints        []Tree
	seen          map[string]bool
	out           []question
}

func (q *asked) below(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			q.below(x)
		}
	case Tree:
		for field, x := range v {
			switch field {
			case "nodeSelector":
				labels, _ := x.(Tree)
				for key, value := range labels {
					text, _ := value.(string)
					q.label(key, text)
				}
			case "nodeSelectorTerms":
				q.terms(x)
			case "topologyKey":
				key, _ := x.(string)
				q.label(key, "")
			case "tolerations":
				list, _ := x.([]any)
				for _, t := range list {
					q.toleration(t.(Tree))
				}
			case "priorityClassName":
				if name, _ := x.(string); !slices.Contains(q.classes, name) {
					q.ask("class", name, q.classes, near.Names, nameOf, func(s string) string { return q.w.name(nameOf, s) })
				}
			}
			q.below(x)
		}
	}
}

// toleration asks for the key of a toleration that tolerates no taint.
func (q *asked) toleration(t Tree) {
	var keys []string
	for _, taint := range q.taints {
		keys = append(keys, text(taint, "key"))
		if text(t, "key") == text(taint, "key") && (text(t, "operator") == "Exists" || text(t, "value") == text(taint, "value")) &&
			(text(t, "effect") == "" || text(t, "effect") == text(taint, "effect")) {
			return
		}
	}
	q.ask("toleration", text(t, "key"), keys, near.Names, labelKey, q.w.key)
}

// terms collects from the terms of a node selector.
func (q *asked) terms(v any) {
	list, _ := v.([]any)
	for _, x := range list {
		expressions, _ := x.(Tree)["matchExpressions"].([]any)
		for _, e := range expressions {
			value := ""
			if values, _ := e.(Tree)["values"].([]any); len(values) == 1 {
				value, _ = values[0].(string)
			}
			q.label(text(e.(Tree), "key"), value)
		}
	}
}

// label asks for a key that no node has, or for a value that no node has.
func (q *asked) label(key, value string) {
	values, there := q.values[key]
	if !there {
		q.ask("key", key, q.keys, meantKey, labelKey, q.w.key)
		return
	}
	if value != "" && !slices.Contains(values, value) {
		r := labelMap
		if key == "kubernetes.io/hostname" {
			r = nodeName
		}
		q.ask("value "+key, value, values, meantValue, r, func(s string) string { return q.w.value(key, s) })
	}
}

func (q *asked) ask(about, wrong string, names []string, like like, r rule, new func(string) string) {
	if id := about + "\x00" + wrong; wrong != "" && len(names) > 0 && !q.seen[id] {
		q.seen[id] = true
		q.out = append(q.out, question{wrong, names, like, r, new})
	}
}

// groups settles which names get which code, and which keys keep their part behind the slash because a key that keeps its name has it
// too.
func (w *walker) groups(list []question) {
	for _, q := range list {
		b := w.books[q.rule]
		if b.seen[q.wrong] {
			b.join(q.wrong, q.wrong)
		}
		for _, n := range q.like(q.wrong, q.names) {
			switch {
			case b.seen[q.wrong] && b.seen[n]:
				b.join(q.wrong, n)
				b.words = b.words || q.rule != nameOf
			case b.seen[q.wrong]:
				b.tail(q.wrong, n)
			case b.seen[n]:
				b.tail(n, q.wrong)
			}
		}
	}
}

// join puts two names into one group.
func (b *book) join(x, y string) {
	for _, name := range []string{x, y} {
		if b.group[name] == "" {
			b.group[name] = name
		}
	}
	x, y = b.group[x], b.group[y]
	for name, of := range b.group {
		if of == y && x != y {
			b.group[name] = x
		}
	}
}

// tail keeps the part of a key that a key of Kubernetes has behind its slash.
func (b *book) tail(name, kept string) {
	_, tail, _ := strings.Cut(kept, "/")
	if tail != "" && (name == tail || strings.HasSuffix(name, "/"+tail)) {
		b.tails[name] = "/" + tail
	}
}

// code returns the code of the kth group. There are 676 codes.
func code(k int) string {
	const letters = 'z' - 'a' + 1
	return "-" + strings.Repeat(string(rune('a'+k/letters%letters)), run) + strings.Repeat(string(rune('a'+k%letters)), run)
}

// unlike returns the names for which lint suggests others than before.
func unlike(list []question) (out []string) {
	for _, q := range list {
		var want, names []string
		for _, n := range q.like(q.wrong, q.names) {
			want = append(want, q.new(n))
		}
		for _, n := range q.names {
			names = append(names, q.new(n))
		}
		if !slices.Equal(want, q.like(q.new(q.wrong), names)) {
			out = append(out, q.wrong)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
