package anonymise

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// derive gives objects that controllers make the names that the controllers would give them: pods of StatefulSets, claims of
// StatefulSets, and claims of pods.
func (w *walker) derive(list []Tree) error {
	b := w.books[nameOf]
	made := map[string]string{}
	claims := map[string][]string{} // by namespace
	for _, t := range list {
		if t["kind"] == "PersistentVolumeClaim" {
			claims[text(t, "metadata", "namespace")] = append(claims[text(t, "metadata", "namespace")], text(t, "metadata", "name"))
		}
	}
	give := func(t Tree, name, next string) error {
		if old := made[name]; old != "" && old != next {
			return refuse(t, "metadata.name: %q is a name that two controllers would give", name)
		}
		made[name] = next
		return nil
	}
	for _, t := range list {
		if t["kind"] == "StatefulSet" {
			if err := w.claimsOf(t, claims[text(t, "metadata", "namespace")], give); err != nil {
				return err
			}
		}
		owner := controller(t)
		rest, found := strings.CutPrefix(text(t, "metadata", "name"), text(owner, "name")+"-")
		if owner == nil || !found {
			continue
		}
		next := cmp.Or(made[text(owner, "name")], b.new[text(owner, "name")]) + "-"
		volume := w.books[volumeName].new[rest]
		switch {
		case t["kind"] == "Pod" && owner["kind"] == "StatefulSet":
			next += rest
		case t["kind"] == "PersistentVolumeClaim" && owner["kind"] == "Pod" && volume != "":
			next += volume
		default:
			continue
		}
		if err := give(t, text(t, "metadata", "name"), next); err != nil {
			return err
		}
	}
	for name, next := range made {
		delete(b.old, b.new[name])
		b.set(name, next)
	}
	return w.ordered(list)
}

// claimsOf gives the claims of a StatefulSet their names: TEMPLATE-SET-ORDINAL.
func (w *walker) claimsOf(set Tree, claims []string, give func(t Tree, name, next string) error) error {
	spec, _ := set["spec"].(Tree)
	templates, _ := spec["volumeClaimTemplates"].([]any)
	for _, x := range templates {
		template := text(x.(Tree), "metadata", "name")
		name := text(set, "metadata", "name")
		for _, claim := range claims {
			ordinal, found := strings.CutPrefix(claim, template+"-"+name+"-")
			if _, err := strconv.Atoi(ordinal); !found || err != nil {
				continue
			}
			if err := give(set, claim, w.books[volumeName].new[template]+"-"+w.books[nameOf].new[name]+"-"+ordinal); err != nil {
				return err
			}
		}
	}
	return nil
}

// text returns the text at a path, "" when there is none.
func text(t Tree, path ...string) string {
	for _, field := range path[:len(path)-1] {
		t, _ = t[field].(Tree)
	}
	s, _ := t[path[len(path)-1]].(string)
	return s
}

// controller returns the owner that controls an object, nil for none.
func controller(t Tree) Tree {
	m, _ := t["metadata"].(Tree)
	owners, _ := m["ownerReferences"].([]any)
	for _, o := range owners {
		if owner, _ := o.(Tree); owner["controller"] == true {
			return owner
		}
	}
	return nil
}

// ordered returns an error when new names of pods sort in another way than the old ones.
func (w *walker) ordered(list []Tree) error {
	b := w.books[nameOf]
	var pods []Tree
	for _, t := range list {
		if t["kind"] == "Pod" {
			pods = append(pods, t)
		}
	}
	nameOf := func(t Tree) string { return text(t, "metadata", "name") }
	slices.SortStableFunc(pods, func(x, y Tree) int { return strings.Compare(nameOf(x), nameOf(y)) })
	for k := range pods[:max(0, len(pods)-1)] {
		x, y := nameOf(pods[k]), nameOf(pods[k+1])
		if (x == y) != (b.new[x] == b.new[y]) || b.new[x] > b.new[y] {
			return refuse(pods[k+1], "metadata.name: would no longer sort after %q", x)
		}
	}
	return nil
}
