package gang

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// leaf is a group in a domain.
type leaf struct {
	slots []int
	kinds []int // in the order of the style
	after []int // members of the kinds from one on
	rest  string
	then  func() bool
}

// fill places members of a leaf: need more, done of the kind at. Members of a kind go along a list of slots, so that no two ways are alike.
func (f *finder) fill(l *leaf, at, need, done, from int, list []int) bool {
	if need == 0 {
		return l.then()
	}
	if l.after[at]-done < need { // behind the last kind nobody is left
		return false
	}
	k := l.kinds[at]
	members := f.kinds[k].members
	state := ""
	if list == nil {
		list = f.nearest(k, l.slots)
		if f.dead != nil {
			state = f.state(fmt.Sprintf("%s#%d:%d", l.rest, at, need))
			if f.dead[state] {
				return false
			}
		}
	}
	must := max(0, need-l.after[at+1]) // of this kind
	if must > 0 && f.takes(k, list[from:]) < must {
		return false
	}
	if done < len(members) {
		fits, tried := f.fits(k), map[string]bool{}
		for x := from; x < len(list); x++ {
			i := list[x]
			if !fits(i) || !f.coupled && f.twin(tried, i) {
				continue
			}
			if f.spent() {
				return false
			}
			f.put(members[done], i)
			if f.fill(l, at, need-1, done+1, x, list) {
				return true
			}
			f.take()
			if f.cut {
				return false
			}
		}
	}
	if must == 0 && f.fill(l, at+1, need, 0, 0, nil) {
		return true
	}
	if state != "" && !f.cut {
		f.dead[state] = true
	}
	return false
}

// takes is how many members of a kind some slots take at most.
func (f *finder) takes(k int, slots []int) (sum int) {
	x := &f.kinds[k]
	for _, i := range slots {
		if !x.open[i] {
			continue
		}
		most := int64(len(x.members))
		for c, free := range f.room(i) {
			if x.needs[c] > 0 {
				most = min(most, max(0, free)/x.needs[c])
			}
		}
		sum += int(most)
	}
	return sum
}

// twin reports whether a slot like this one was tried, and notes it.
func (f *finder) twin(tried map[string]bool, i int) bool {
	text := []byte(f.class[i])
	for _, free := range f.room(i) {
		text = binary.AppendVarint(text, free)
	}
	was := tried[string(text)]
	tried[string(text)] = true
	return was
}

// state is what is left to do, and who is where: members of a kind are alike.
func (f *finder) state(rest string) string {
	at := make([][]int, len(f.kinds))
	for k, i := range f.on {
		at[f.of[k]] = append(at[f.of[k]], i)
	}
	text := []byte(rest)
	for k := range at {
		slices.Sort(at[k])
		text = binary.AppendVarint(text, int64(len(at[k])))
		for _, i := range at[k] {
			text = binary.AppendVarint(text, int64(i))
		}
	}
	return string(text)
}
