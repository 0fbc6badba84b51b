package anonymise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/podberth/podberth/tools/dump"
)

// Tree is an object as package json reads it, with numbers as [json.Number].
type Tree = map[string]any

// Names maps new names to old ones.
type Names struct {
	Node      map[string]string `json:"nodes"`
	Namespace map[string]string `json:"namespaces"`
	Object    map[string]string `json:"objects"` // of all other kinds
	Key       map[string]string `json:"labelKeys"`
	Value     map[string]string `json:"labelValues"`
	Image     map[string]string `json:"images"`
	Volume    map[string]string `json:"volumes"`

	// Unlike are old names for which program lint suggests others about the new dump than about the old one.
	Unlike []string `json:"-"`
}

// Objects returns the objects of a dump with new names, in their order, and the names. The error says what cannot get a new name.
// progress is called with how much of the work is done; nil: no calls.
func Objects(o *dump.Objects, progress func(done, total int)) ([]Tree, *Names, error) {
	done, total := 0, 0
	for range o.All() {
		total += 3 // the tree of an object and two walks
	}
	step := func() {
		if done++; progress != nil {
			progress(done, total)
		}
	}
	marked := *o
	marked.Nodes = o.Cluster().Nodes // with the taints of agents that NodePools list
	list, err := trees(&marked, step)
	if err != nil {
		return nil, nil, err
	}
	w := &walker{books: map[rule]*book{}}
	for _, r := range []struct {
		rule   rule
		prefix string
	}{{nameOf, "x"}, {nodeName, "node-"}, {nsName, "ns-"}, {uidOf, "uid-"}, {labelKey, "key-"}, {labelMap, "v"}, {imageName, "image-"}, {volumeName, "vol-"}} {
		w.books[r.rule] = newBook(r.prefix)
	}
	w.books[nsName].after = "/" // programs sort NAMESPACE/NAME
	for _, t := range list {    // the first walk collects the names, the second replaces them
		w.object(t)
		step()
	}
	asked := w.questions(list)
	w.groups(asked)
	if err := w.close(list); err != nil {
		return nil, nil, err
	}
	other := unlike(asked)
	if err := w.expressions(list); err != nil {
		return nil, nil, err
	}
	for k, t := range list {
		list[k] = w.object(t)
		step()
	}
	return list, &Names{
		Node: w.books[nodeName].old, Namespace: w.books[nsName].old, Object: w.books[nameOf].old, Key: w.books[labelKey].old,
		Value: w.books[labelMap].old, Image: w.books[imageName].old, Volume: w.books[volumeName].old,
		Unlike: other,
	}, nil
}

// Trees returns the objects of a dump by kind, in their order.
func Trees(o *dump.Objects) ([]Tree, error) { return trees(o, func() {}) }

func trees(o *dump.Objects, step func()) (list []Tree, err error) {
	for kind, object := range o.All() {
		data, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var t Tree
		if err := d.Decode(&t); err != nil {
			return nil, err
		}
		t["apiVersion"], t["kind"] = kind.GroupVersion().String(), kind.Kind
		list = append(list, t)
		step()
	}
	return list, nil
}

// walker replaces the names of a tree, or collects them before the books are closed.
type walker struct {
	books  map[rule]*book
	closed bool
	kind   string // of the object
	made   bool   // the walk is in a template for the claims of a StatefulSet
	claim  bool   // the walk is in a template for a claim of a pod

	addresses map[string]string // of host ports, by old address
}

func (w *walker) object(t Tree) Tree {
	w.kind, _ = t["kind"].(string)
	return w.below(t, "")
}

// name gives a name to its book, or takes the new name from there.
func (w *walker) name(r rule, text string) string {
	if keptNames[text] && r != nodeName {
		return text
	}
	if r == imageName {
		text = tagged(text)
	}
	if !w.closed {
		w.books[r].see(text)
		return text
	}
	return w.books[r].new[text]
}

// tagged writes an image with its tag, as the scheduler compares images.
func tagged(image string) string {
	if strings.LastIndex(image, ":") <= strings.LastIndex(image, "/") {
		return image + ":latest"
	}
	return image
}

// key returns the new key of a label, a taint or a topology.
func (w *walker) key(text string) string {
	domain, role, found := strings.Cut(text, "/")
	if domain == "node-role.kubernetes.io" && role != "" && !slices.Contains([]string{"control-plane", "master", "worker", "node"}, role) {
		return w.name(labelKey, text)
	}
	if text == "" || found && (known(domain, "kubernetes.io") || known(domain, "k8s.io")) || text == "pod-template-hash" || text == "controller-revision-hash" || text == "metadata.name" {
		if text != "" {
			w.books[labelKey].kept[text] = true
		}
		return text
	}
	return w.name(labelKey, text)
}

// taints returns taints that a text lists: "key=value:effect", parted by commas.
func (w *walker) taints(text string) string {
	list := strings.Split(text, ",")
	for i, t := range list {
		what, effect, ends := strings.Cut(t, ":")
		key, value, valued := strings.Cut(what, "=")
		list[i] = w.key(key)
		if valued {
			list[i] += "=" + w.value(key, value)
		}
		if ends {
			list[i] += ":" + effect
		}
	}
	return strings.Join(list, ",")
}

func known(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }

// value returns the new value of a label or a taint.
func (w *walker) value(key, text string) string {
	switch key {
	case "kubernetes.io/hostname", "metadata.name":
		return w.name(nodeName, text)
	case "kubernetes.io/metadata.name":
		return w.name(nsName, text)
	case "job-name", "batch.kubernetes.io/job-name", "statefulset.kubernetes.io/pod-name":
		return w.name(nameOf, text)
	case "controller-uid", "batch.kubernetes.io/controller-uid":
		return w.name(uidOf, text)
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil || text == "" || text == "true" || text == "false" || keptValues[key] {
		return text
	}
	return w.name(labelMap, text)
}

func (w *walker) labels(v any) any {
	m, ok := v.(Tree)
	if !ok {
		return v
	}
	out := Tree{}
	for k, x := range m {
		text, _ := x.(string)
		out[w.key(k)] = w.value(k, text)
	}
	return out
}

// below returns the object of a field with new names.
func (w *walker) below(t Tree, field string) Tree {
	out := Tree{}
	if w.pair(t, field, out) {
		return out
	}
	for k, v := range t {
		if x, ok := w.field(t, field, k, v); ok {
			out[k] = x
		}
	}
	if field != "" {
		w.reference(t, out)
	}
	return out
}

// pair handles what has a key and values: taints, tolerations and the expressions of selectors.
func (w *walker) pair(t Tree, field string, out Tree) bool {
	switch field {
	case "tolerations", "taints", "matchExpressions", "matchFields", "matchLabelExpressions":
	default:
		return false
	}
	key, _ := t["key"].(string)
	for k, v := range t {
		switch k {
		case "key":
			out[k] = w.key(key)
		case "value":
			text, _ := v.(string)
			out[k] = w.value(key, text)
		case "values":
			out[k] = w.each(v, func(text string) string { return w.value(key, text) })
		default:
			out[k] = v
		}
	}
	return true
}

// field returns a field of an object with new names, and false when the field goes.
func (w *walker) field(t Tree, parent, name string, v any) (any, bool) {
	r := w.rule(t, parent, name)
	switch r {
	case leaveOut:
		return nil, false
	case keep:
		return v, true
	case labelMap:
		return w.labels(v), true
	case labelKey:
		return w.each(v, w.key), true
	case deviceName:
		return w.each(v, w.pool), true
	case deviceTree:
		return w.devices(v, name), true
	case requestName:
		return w.each(v, w.request), true
	case conditionName:
		return w.each(v, w.condition), true
	case finalizerName:
		return w.each(v, w.finalizer), true
	case noTexts:
		v = withoutTexts(v)
		return v, v != nil
	case taintNames:
		return w.each(v, w.taints), true
	case hostAddress:
		return w.each(v, w.address), true
	case walkOn:
		defer func(made, claim bool) { w.made, w.claim = made, claim }(w.made, w.claim)
		w.made, w.claim = w.made || name == "volumeClaimTemplates", w.claim || name == "volumeClaimTemplate"
		return w.all(v, name)
	}
	return w.each(v, func(text string) string { return w.name(r, text) }), true
}

// all walks through objects and lists of objects.
func (w *walker) all(v any, field string) (any, bool) {
	switch v := v.(type) {
	case Tree:
		return w.below(v, field), true
	case []any:
		out := make([]any, 0, len(v))
		for _, x := range v {
			switch x := x.(type) {
			case Tree:
				out = append(out, w.below(x, field))
			case string:
				if field == "namespaces" {
					out = append(out, w.name(nsName, x))
				}
			}
		}
		return out, true
	}
	return nil, false
}

// each replaces a text, or the texts of a list.
func (w *walker) each(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		out := make([]any, 0, len(v))
		for _, x := range v {
			if text, ok := x.(string); ok {
				out = append(out, replace(text))
			}
		}
		return out
	}
	return v
}

// pool returns the name of a pool of devices, which often is that of its node.
func (w *walker) pool(text string) string {
	if !w.closed {
		return w.name(nameOf, text) // whether it is that of a node is not known yet
	}
	return cmp.Or(w.books[nodeName].new[text], w.name(nameOf, text))
}

// refuse returns an error about an object.
func refuse(t Tree, format string, args ...any) error {
	m, _ := t["metadata"].(Tree)
	name, _ := m["name"].(string)
	if ns, _ := m["namespace"].(string); ns != "" {
		name = ns + "/" + name
	}
	return fmt.Errorf("%v %s: %s", t["kind"], name, fmt.Sprintf(format, args...))
}
