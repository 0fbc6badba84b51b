package dump

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/tools/report"
)

// Read reads the dumps at paths: files, folders (recursively their .yaml, .yml and .json files and the .gz of those, by
// name) and "-", which is stdin. Text may be packed by gzip. Any error is about the first thing that is wrong; nothing is
// returned beside it. Input without a single object of a kind that is read is an error.
func Read(paths []string, stdin io.Reader, o Options) (*Objects, error) {
	if h, is := stdin.(*held); is && slices.Equal(paths, []string{"-"}) {
		out := h.copied()
		out.Warnings.All = o.Verbose
		return out, nil
	}
	r := newReader(o)
	for _, path := range paths {
		before := r.documents
		if err := r.path(path, stdin); err != nil {
			return nil, err
		}
		if r.documents == before {
			return nil, fmt.Errorf("%s: is empty: must hold Kubernetes objects as YAML or JSON", named(path))
		}
	}
	if len(r.seen) == 0 {
		return nil, fmt.Errorf("%s: Required value: no object of a kind that is read%s", strings.Join(mapped(paths, named), ", "), r.others())
	}
	fields := r.fields.lines()
	r.objects.UnknownFields = fields
	if len(fields) > 0 && o.Strict {
		return nil, errors.New(strings.Join(fields, "\n"))
	}
	for _, text := range r.unknownKinds() {
		r.objects.Warnings.Group("objects of %d kinds are left aside, because the kinds are not read", text)
	}
	for _, f := range r.fields.sorted() {
		r.objects.Warnings.Group("%d fields of "+plural(f.kind)+" are unknown and not read", f.text())
	}
	r.objects.Warnings.All = o.Verbose
	return r.objects, nil
}

func named(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// reader is the sink that makes Objects.
type reader struct {
	o         Options
	objects   *Objects
	documents int
	seen      map[string]entry // by kind and name
	uids      map[types.UID]string
	unknown   map[string]int // objects by kind
	fields    fields
	sharing   sharing
	list      listReader
	last      metav1.Object
}

// entry is an object that was read.
type entry struct {
	object metav1.Object
	at     string
}

func newReader(o Options) *reader {
	return &reader{o: o, objects: &Objects{}, seen: map[string]entry{}, uids: map[types.UID]string{}, unknown: map[string]int{}, fields: fields{}, sharing: sharing{}}
}

func (r *reader) path(path string, stdin io.Reader) error {
	if path == "-" {
		return r.file(path, stdin)
	}
	return files(path, func(file string) error { return r.file(file, nil) })
}

func (r *reader) file(path string, stdin io.Reader) error {
	n, err := feed(path, stdin, r.o, r)
	r.documents += n
	return err
}

// listReader is the List that is being read.
type listReader struct {
	n       int      // items so far
	waiting []waiter // items without a kind, until that of the List is known
}

type waiter struct {
	data []byte
	at   position
	name string
}

// item reads an item of a List.
func (r *reader) item(kind string, data []byte, at position) error {
	r.list.n++
	name := fmt.Sprintf("%v, item %d", at, r.list.n)
	s := scan{data: data}
	if err := s.whole(); err == nil && s.kind == nil && data[0] == '{' {
		r.list.waiting = append(r.list.waiting, waiter{append([]byte(nil), data...), at, name})
		return nil
	}
	return r.one(data, name, at, envelope{})
}

// object reads an object, or ends the List whose items were read.
func (r *reader) object(data []byte, at position, streamed bool) error {
	l := r.list
	r.list = listReader{}
	if !streamed {
		return r.one(data, at.String(), at, envelope{})
	}
	s := scan{data: data}
	if err := s.whole(); err != nil {
		return at.fail(err)
	}
	e, err := s.envelope()
	if err != nil {
		return fmt.Errorf("%v: %w", at, err)
	}
	if !isList(e.kind) {
		return fmt.Errorf("%v: kind: Invalid value: %q: must be a List, as it has items", at, e.kind)
	}
	e.kind = strings.TrimSuffix(e.kind, "List")
	for _, w := range l.waiting {
		if err := r.one(w.data, w.name, w.at, e); err != nil {
			return err
		}
	}
	return nil
}

func isList(kind string) bool { return strings.HasSuffix(kind, "List") }

// envelope is what an object says it is, or what the List says that its items are.
type envelope struct {
	kind, apiVersion string
	lists            int // Lists around the object
}

// envelope returns what the scanned object says it is.
func (s *scan) envelope() (e envelope, err error) {
	for _, f := range []struct {
		name string
		from []byte
		to   *string
	}{{"kind", s.kind, &e.kind}, {"apiVersion", s.apiVersion, &e.apiVersion}} {
		if f.from != nil && json.Unmarshal(f.from, f.to) != nil {
			return e, fmt.Errorf("%s: Invalid value: %s: must be a string", f.name, short(string(f.from)))
		}
	}
	if e.kind == "" {
		return e, errors.New("kind: Required value: every document is a Kubernetes object with apiVersion and kind")
	}
	return e, nil
}

// one reads one object. name says where it stands; around is what a typed list says of its items.
func (r *reader) one(data []byte, name string, at position, around envelope) (failed error) {
	s := scan{data: data}
	if err := s.whole(); err != nil {
		var bad refusal
		if errors.As(err, &bad) {
			return fmt.Errorf("%s: line %d: %w", name, at.line+bad.line, err)
		}
		return at.fail(err)
	}
	if text := patched(data); text != "" {
		return fmt.Errorf("%s: %s", name, text)
	}
	if data[0] != '{' {
		return fmt.Errorf("%s: %w", name, notAnObject(data))
	}
	e := around
	if s.kind != nil || around.kind == "" {
		var err error
		if e, err = s.envelope(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if isList(e.kind) {
		return r.nested(data, name, at, e, around.lists)
	}
	version, err := schema.ParseGroupVersion(e.apiVersion)
	if err != nil {
		return fmt.Errorf("%s: apiVersion: Invalid value: %q: %w", name, e.apiVersion, err)
	}
	if e.kind == nodePoolKind && version.Group == nodePoolGroup {
		return r.nodePool(data, name)
	}
	k, ok := kinds[e.kind]
	if !ok || k.group != version.Group {
		r.unknown[schema.GroupKind{Group: version.Group, Kind: e.kind}.String()]++
		return nil
	}
	if k.versions != nil && !slices.Contains(k.versions, version.Version) {
		r.unknown[e.kind+"."+version.Version+"."+version.Group]++
		r.objects.oldGroups = r.objects.oldGroups || e.kind == "PodGroup"
		return nil
	}
	if version.Group == devices && version.Version != "v1" && !(e.kind == taintRule && version.Version == "v1beta2") {
		converted, err := convertDevices(e.kind, version.Version, data)
		if err != nil {
			return fmt.Errorf("%s (%s): %w", name, nameOf(e.kind, data), err)
		}
		data = converted
		note := fmt.Sprintf("%s is of %s, read as %s/v1", nameOf(e.kind, data), e.apiVersion, devices)
		r.objects.Warnings.Group("%d objects of "+e.apiVersion+" are read as those of "+devices+"/v1", note)
		defer func() {
			if failed != nil { // nobody prints the warnings of input that cannot be read
				failed = fmt.Errorf("%w (%s)", failed, note)
			}
		}()
		e.apiVersion = devices + "/v1"
	}
	if version.Group == kubeletGroup && version.Version != kubeletVersion {
		return fmt.Errorf("%s (%s): apiVersion: Unsupported value: %q: must be %s", name, nameOf(e.kind, data), e.apiVersion, report.APIVersion)
	}
	object := k.make()
	unknown, err := decode(data, object, s.numbers)
	if err != nil {
		return fmt.Errorf("%s (%s): %w", name, nameOf(e.kind, data), oneLine(err))
	}
	if e.kind == autoscaler && version.Version != k.version() { // the metrics of other versions, which nobody reads
		unknown = nil
	}
	return r.keep(k, e, object, unknown, name)
}

// plural returns what kubectl calls the objects of a kind.
func plural(kind string) string {
	kind = strings.ToLower(kind)
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

// nested reads the items of a List that is an item itself, or that has none.
func (r *reader) nested(data []byte, name string, at position, e envelope, lists int) error {
	if lists >= maxLists {
		return fmt.Errorf("%s: Too many: Lists may be nested %d deep", name, maxLists)
	}
	var l struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("%s: items: Invalid value: must be a list", name)
	}
	inner := envelope{strings.TrimSuffix(e.kind, "List"), e.apiVersion, lists + 1}
	for i, item := range l.Items {
		if err := r.one(item, fmt.Sprintf("%s, item %d", name, i+1), at, inner); err != nil {
			return err
		}
	}
	return nil
}

// keep adds an object to those that were read. An object that was read before is left out when the two are equal.
func (r *reader) keep(k objectKind, e envelope, object metav1.Object, unknown []string, at string) error {
	if k.namespaced && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	if typed, ok := object.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		typed.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(e.apiVersion, e.kind))
	}
	withClaimDefaults(object)
	object.SetManagedFields(nil) // no reader needs managed fields, and they are most of a dump
	r.last = object
	called := nameInMessage(e.kind, object)
	if object.GetName() == "" {
		text := fmt.Sprintf("%s (%s): metadata.name: Required value: every object has a name", at, e.kind)
		if slices.Contains(unknown, `unknown field "name"`) {
			text += "; the field name stands outside of metadata"
		}
		return errors.New(text)
	}
	if first, ok := r.seen[called]; ok {
		if equality.Semantic.DeepEqual(first.object, object) {
			return nil
		}
		if patch, of := at, first.at; partial(object) != partial(first.object) {
			if partial(first.object) {
				patch, of = first.at, at
			}
			return fmt.Errorf("%s: without spec.selector, beside %s at %s, it is a patch of kustomize%s", patch, called, of, kustomized)
		}
		return fmt.Errorf("%s: metadata.name: Duplicate value: %q: another %s stands at %s", at, object.GetName(), called, first.at)
	}
	r.seen[called] = entry{object, at}
	if uid := object.GetUID(); uid != "" {
		if first, ok := r.uids[uid]; ok {
			return fmt.Errorf("%s (%s): metadata.uid: Duplicate value: %q: that of %s at %s", at, called, uid, first, r.seen[first].at)
		}
		r.uids[uid] = called
	}
	r.fields.note(e.kind, called, at, unknown)
	r.sharing.add(e.kind, object)
	k.add(r.objects, object)
	return nil
}

// nameOf names an object that could not be decoded, as far as its metadata can be.
func nameOf(kind string, data []byte) string {
	var h struct {
		Metadata struct {
			Name      any `json:"name"`
			Namespace any `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &h); err != nil || h.Metadata.Name == nil {
		return kind
	}
	if h.Metadata.Namespace == nil {
		return fmt.Sprintf("%s %v", kind, h.Metadata.Name)
	}
	return fmt.Sprintf("%s %v/%v", kind, h.Metadata.Namespace, h.Metadata.Name)
}

// oneLine joins the lines of an error.
func oneLine(err error) error {
	if text := err.Error(); strings.Contains(text, "\n") {
		return errors.New(strings.Join(strings.Fields(text), " "))
	}
	return err
}

func mapped[T, U any](list []T, f func(T) U) (out []U) {
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}
