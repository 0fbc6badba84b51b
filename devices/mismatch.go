package devices

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Mismatch is a condition of a selector that devices do not meet.
type Mismatch struct {
	// Name is "domain/name" of an attribute or a capacity, or "driver".
	Name string `json:"name"`
	// Wanted is the value that the selector wants, such as "A100", "A100 or H100" or "at least 40Gi".
	Wanted string `json:"wanted"`
	// Found are the different values of the devices in order, at most three; "nothing" for a device that has no such attribute.
	Found []string `json:"found"`
	// More is the number of other values.
	More int `json:"more,omitempty"`
}

// text returns the mismatch in words: "gpu.example.com/model is L4, T4, wanted A100".
func (m Mismatch) text() string {
	more := ""
	if m.More > 0 {
		more = fmt.Sprintf(" and %d more", m.More)
	}
	return fmt.Sprintf("%s is %s%s, wanted %s", m.Name, strings.Join(m.Found, ", "), more, m.Wanted)
}

const (
	mostMismatches = 3  // of a selector
	mostValues     = 3  // of a mismatch, found and wanted
	longestValue   = 64 // of a literal: a longer one is not said
)

// clause is one of the conditions that a selector joins with &&, if it compares an attribute, a capacity or the driver with literals.
// Other conditions are not known, and nothing is said about them.
type clause struct {
	kind         string // "attributes", "capacity" or "driver"
	domain, name string
	op           string   // ==, !=, in, <, <=, >, >=
	values       []string // literals without quotes
}

const (
	field   = `device\.(attributes|capacity)\[(?:"([^"\\]+)"|'([^'\\]+)')\](?:\.(\w+)|\[(?:"([^"\\]+)"|'([^'\\]+)')\])`
	compare = `\s*(==|!=|<=|>=|<|>)\s*`
)

var (
	comparison = regexp.MustCompile(`^` + field + compare + `(.+)$`)
	membership = regexp.MustCompile(`^` + field + `\s+in\s+\[(.*)\]$`)
	truth      = regexp.MustCompile(`^(!?)\s*` + field + `$`)
	quantity   = regexp.MustCompile(`^` + field + `\.compareTo\(\s*quantity\(\s*["']([^"'\\]+)["']\s*\)\s*\)` + compare + `0$`)
	greater    = regexp.MustCompile(`^` + field + `\.is(Greater|Less)Than\(\s*quantity\(\s*["']([^"'\\]+)["']\s*\)\s*\)$`)
	ofDriver   = regexp.MustCompile(`^device\.driver\s*(==|!=)\s*(.+)$`)
	literal    = regexp.MustCompile(`^(?:"([^"\\]*)"|'([^'\\]*)'|(-?\d+|true|false))$`)
)

// clauses returns the conditions of an expression that are known.
func clauses(expression string) (out []clause) {
	for _, text := range conjuncts(expression) {
		if c, ok := clauseOf(text); ok && !slices.ContainsFunc(c.values, func(v string) bool { return len(v) > longestValue }) {
			out = append(out, c)
		}
	}
	return out
}

// conjuncts splits an expression at each && outside of quotes and brackets. Parentheses around all of it go. An expression that is
// true in another case too (||, or a ?) is one.
func conjuncts(expression string) (out []string) {
	depth, from, quote := 0, 0, byte(0)
	s := strings.TrimSpace(expression)
	whole := len(s) > 1 && s[0] == '(' && s[len(s)-1] == ')'
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth == 0 && i < len(s)-1 {
				whole = false
			}
		case depth == 0 && (c == '?' || strings.HasPrefix(s[i:], "||")):
			return []string{s}
		case depth == 0 && strings.HasPrefix(s[i:], "&&"):
			out, from = append(out, s[from:i]), i+2
			i++
		}
	}
	if whole && out == nil {
		return conjuncts(s[1 : len(s)-1])
	}
	if out == nil {
		return []string{s}
	}
	all := append(out, s[from:])
	out = nil
	for _, text := range all {
		out = append(out, conjuncts(text)...)
	}
	return out
}

// clauseOf reads one condition.
func clauseOf(text string) (c clause, ok bool) {
	of := func(m []string) clause {
		return clause{kind: m[0], domain: cmp.Or(m[1], m[2]), name: cmp.Or(m[3], m[4], m[5])}
	}
	if m := quantity.FindStringSubmatch(text); m != nil {
		c = of(m[1:7])
		c.op, c.values = m[8], []string{m[7]}
		return c, c.kind == "capacity"
	}
	if m := greater.FindStringSubmatch(text); m != nil {
		c = of(m[1:7])
		c.op, c.values = map[string]string{"Greater": ">", "Less": "<"}[m[7]], []string{m[8]}
		return c, c.kind == "capacity"
	}
	if m := membership.FindStringSubmatch(text); m != nil {
		c = of(m[1:7])
		c.op = "in"
		for _, x := range strings.Split(m[7], ",") {
			v, ok := literalOf(x)
			if !ok {
				return c, false
			}
			c.values = append(c.values, v)
		}
		return c, c.kind == "attributes"
	}
	if m := ofDriver.FindStringSubmatch(text); m != nil {
		v, ok := literalOf(m[2])
		return clause{kind: "driver", op: m[1], values: []string{v}}, ok
	}
	if m := truth.FindStringSubmatch(text); m != nil {
		c = of(m[2:8])
		c.op, c.values = "==", []string{strconv.FormatBool(m[1] == "")}
		return c, c.kind == "attributes"
	}
	if m := comparison.FindStringSubmatch(text); m != nil {
		c = of(m[1:7])
		v, ok := literalOf(m[8])
		c.op, c.values = m[7], []string{v}
		return c, ok && c.kind == "attributes"
	}
	return c, false
}

func literalOf(text string) (string, bool) {
	m := literal.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return "", false
	}
	return m[1] + m[2] + m[3], true
}

// label names what the condition is about.
func (c clause) label() string {
	if c.kind == "driver" {
		return c.kind
	}
	return c.domain + "/" + c.name
}

// wanted says what the condition wants.
func (c clause) wanted() string {
	list, more := c.values, ""
	if n := len(list) - mostValues; n > 0 {
		list, more = list[:mostValues], fmt.Sprintf(" or %d more", n)
	}
	before := map[string]string{"!=": "another than ", "<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least "}[c.op]
	return before + strings.Join(list, " or ") + more
}

// found returns what a device has, and whether it meets the condition. ok is false where that cannot be said: a list of values, a version, or
// values of different types.
func (c clause) found(d *device) (value string, meets, ok bool) {
	if c.kind == "driver" {
		return d.id.Driver, (d.id.Driver == c.values[0]) == (c.op == "=="), true
	}
	names := []resourcev1.QualifiedName{resourcev1.QualifiedName(c.domain + "/" + c.name)}
	if c.domain == d.id.Driver {
		names = append(names, resourcev1.QualifiedName(c.name))
	}
	for _, name := range names {
		if c.kind == "capacity" {
			if have, there := d.object.Capacity[name]; there {
				want, err := resource.ParseQuantity(c.values[0])
				return have.Value.String(), c.holds(have.Value.Cmp(want)), err == nil
			}
		} else if have, there := d.object.Attributes[name]; there {
			return c.ofAttribute(have)
		}
	}
	return "nothing", false, true
}

// ofAttribute is found for the value of an attribute.
func (c clause) ofAttribute(a resourcev1.DeviceAttribute) (value string, meets, ok bool) {
	switch {
	case a.StringValue != nil:
		value = *a.StringValue
	case a.BoolValue != nil:
		value = strconv.FormatBool(*a.BoolValue)
	case a.IntValue != nil:
		value = strconv.FormatInt(*a.IntValue, 10)
		if c.op != "in" {
			want, err := strconv.ParseInt(c.values[0], 10, 64)
			return value, c.holds(cmp.Compare(*a.IntValue, want)), err == nil
		}
	default:
		return "", false, false
	}
	switch c.op {
	case "==", "in":
		return value, slices.Contains(c.values, value), true
	case "!=":
		return value, value != c.values[0], true
	}
	return "", false, false
}

// holds reports whether the operator holds for the result of a comparison.
func (c clause) holds(order int) bool {
	switch c.op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// mismatches says which conditions of an expression the devices do not meet. A condition that no device meets refuses
// every device: if there is one, only such conditions are returned. Otherwise all are returned that some device does not meet.
func mismatches(expression string, refused []*device) (out []Mismatch) {
	all := false
	for _, c := range clauses(expression) {
		var values []string
		n := 0
		for _, d := range refused {
			v, meets, ok := c.found(d)
			if !ok || meets {
				continue
			}
			n++
			if at, there := slices.BinarySearch(values, v); !there {
				values = slices.Insert(values, at, v)
			}
		}
		if n == 0 || all && n < len(refused) {
			continue
		}
		if n == len(refused) && !all {
			all, out = true, nil
		}
		m := Mismatch{Name: c.label(), Wanted: c.wanted(), Found: values}
		if more := len(values) - mostValues; more > 0 {
			m.Found, m.More = values[:mostValues], more
		}
		out = append(out, m)
	}
	return out[:min(len(out), mostMismatches)]
}
