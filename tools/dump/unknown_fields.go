package dump

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/podberth/podberth/release"
)

// fields counts the fields that the API does not have, by kind and path.
type fields map[string]*unknownField

type unknownField struct {
	kind  string
	name  string // "Deployment: unknown field \"spec.x\""
	count int
	first string // the first object that has the field, and where the object stands
}

var index = regexp.MustCompile(`\[\d+\]`)

// note counts the unknown fields of an object. Items of lists count as one field.
func (f fields) note(kind, called, at string, unknown []string) {
	for _, text := range slices.Compact(slices.Sorted(slices.Values(mapped(unknown, func(s string) string {
		return index.ReplaceAllString(strings.TrimPrefix(s, "unknown field "), "[]")
	})))) {
		key := fmt.Sprintf("%s: unknown field %s", kind, text)
		if f[key] == nil {
			f[key] = &unknownField{kind: kind, name: key, first: fmt.Sprintf("%s (%s)", at, called)}
		}
		f[key].count++
	}
}

// sorted returns the fields in the order of their names.
func (f fields) sorted() (out []*unknownField) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		out = append(out, f[key])
	}
	return out
}

// lines returns one line for each field.
func (f fields) lines() []string { return mapped(f.sorted(), (*unknownField).text) }

func (f *unknownField) text() string {
	return fmt.Sprintf("%s in %d object(s), the first is %s", f.name, f.count, f.first)
}

// unknownKinds returns one line for each kind that is not read.
func (r *reader) unknownKinds() (out []string) {
	for _, k := range slices.Sorted(maps.Keys(r.unknown)) {
		text := fmt.Sprintf("%d object(s) of kind %s left aside: the kind is not read", r.unknown[k], k)
		if kind, version := otherVersion(k); version != "" {
			read := kinds[kind]
			text = fmt.Sprintf("%d object(s) of kind %s of %s/%s left aside: the version is not read; %s, of Kubernetes v%s: kubectl get %s.%s.%s -A -o yaml", r.unknown[k], kind, read.group, version,
				areRead(read.versions), release.Current, strings.ToLower(plural(kind)), read.version(), read.group)
		}
		if strings.HasSuffix(k, "."+kustomize) {
			text += kustomized
		}
		out = append(out, text)
	}
	return out
}

// others names the kinds that are not read, for the error of input that has nothing else.
func (r *reader) others() string {
	if len(r.unknown) == 0 {
		return ""
	}
	text := ", only " + strings.Join(slices.Sorted(maps.Keys(r.unknown)), ", ")
	if strings.Contains(text, "."+kustomize) {
		text += kustomized
	}
	return text
}

// otherVersion returns the kind and the version of objects that are not read because of their version; "" and "" for a kind that is not read at all.
func otherVersion(unknown string) (kind, version string) {
	kind, rest, _ := strings.Cut(unknown, ".")
	version, is := strings.CutSuffix(rest, "."+kinds[kind].group)
	if kinds[kind].versions == nil || !is {
		return "", ""
	}
	return kind, version
}

func areRead(versions []string) string {
	if len(versions) == 1 {
		return versions[0] + " is"
	}
	return strings.Join(versions, " and ") + " are"
}
