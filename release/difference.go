package release

// Difference is one behaviour that is not the same in all releases.
type Difference struct {
	// ID is the identifier of the rule in docs/fidelity/release.md, such as "L5.1".
	ID string
	// Area is the part of Kubernetes, one of Areas.
	Area string
	// Name says in a few words what differs.
	Name string
	// Sentence says what changed, and in which release.
	Sentence string
	// Example is a small case with the answers of both releases; "" without one.
	Example string
	// Option names what follows a release in this, separated by commas: identifiers of podberth, or its programs. "" means that
	// podberth does the same whatever the release.
	Option string
	// NotFollowed says why, if podberth does not follow the difference (Option is empty): the part of Kubernetes that decides it is not in
	// podberth, or podberth does something else.
	NotFollowed string

	by [releases]string // what each release does, in the order of Versions
}

// In returns what a release does; "" for a release that is not known.
func (d Difference) In(v Version) string {
	if !v.Known() {
		return ""
	}
	return d.by[v.minor()-oldest]
}

// Between reports the differences of two releases, in the order of [Differences]: those for which In returns two different texts. It returns
// nil for equal releases and for a release that is not known.
func Between(a, b Version) []Difference {
	if !a.Known() || !b.Known() {
		return nil
	}
	var out []Difference
	for _, d := range Differences() {
		if d.In(a) != d.In(b) {
			out = append(out, d)
		}
	}
	return out
}

// Areas returns the areas in the order of [Differences], as a new slice.
func Areas() []string {
	var out []string
	for _, d := range Differences() {
		if len(out) == 0 || out[len(out)-1] != d.Area {
			out = append(out, d.Area)
		}
	}
	return out
}

// Differences returns all differences between the releases, as a new slice, ordered by area and ID.
func Differences() []Difference {
	var out []Difference
	for _, list := range [][]Difference{
		devices(), plugins(), filters(), requests(), scores(), messages(), queueing(), preemption(), binding(), batching(), configuration(),
		kubelet(), disruption(), nodes(), admission(),
	} {
		out = append(out, list...)
	}
	return out
}

// by says what each release does: "=" is what the release before does, and so is what the list leaves out at its end.
func by(list ...string) (out [releases]string) {
	for i := range out {
		if i < len(list) && list[i] != "=" {
			out[i] = list[i]
		} else {
			out[i] = out[i-1]
		}
	}
	return out
}

// in sets the area of a list.
func in(area string, list ...Difference) []Difference {
	for i := range list {
		list[i].Area = area
	}
	return list
}
