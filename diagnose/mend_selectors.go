package diagnose

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
)

// offers are the names of attributes and capacities that devices have, by "attributes" or "capacity" and by domain, with the strings of
// attributes.
type offers map[string]map[string]map[string]map[string]bool

func offersOf(s *cluster.Snapshot) offers {
	out := offers{"attributes": {}, "capacity": {}}
	add := func(kind, driver string, key resourcev1.QualifiedName, value *string) {
		domain, name, ok := strings.Cut(string(key), "/")
		if !ok {
			domain, name = driver, string(key)
		}
		of := out[kind]
		if of[domain] == nil {
			of[domain] = map[string]map[string]bool{}
		}
		if of[domain][name] == nil {
			of[domain][name] = map[string]bool{}
		}
		if value != nil {
			of[domain][name][*value] = true
		}
	}
	for slice := range cluster.List[*resourcev1.ResourceSlice](s).All() {
		for _, d := range slice.Spec.Devices {
			for key, a := range d.Attributes {
				add("attributes", slice.Spec.Driver, key, a.StringValue)
			}
			for key := range d.Capacity {
				add("capacity", slice.Spec.Driver, key, nil)
			}
		}
	}
	return out
}

var (
	// typedField is a field read as the API writes it: device.attributes["type"].string.
	typedField = regexp.MustCompile(`device\.(attributes|capacity)\[["']([^"'\\]+)["']\]\.(?:string|int|bool|version|quantity|value)\b`)
	// amountCompared is an amount compared with an operator, which amounts do not have.
	amountCompared = regexp.MustCompile(`(device\.capacity\[["'][^"'\\]+["']\]\.\w+)\s*(==|<=|>=|<|>)\s*(quantity\(["'][^"'\\]+["']\))`)
	// fieldRead is the reading of a field of a domain, with a string that it is compared with.
	fieldRead = regexp.MustCompile(`device\.(attributes|capacity)\["([^"\\]+)"\]\.(\w+)(?:\s*==\s*"([^"\\]*)")?`)
)

// meant returns the expression that a selector most likely means, or the expression as it is. It adds the domain to a field, compares amounts
// with compareTo, and replaces a name that no device has by one that looks like it.
func (o offers) meant(expression string) string {
	out := typedField.ReplaceAllStringFunc(expression, func(text string) string {
		m := typedField.FindStringSubmatch(text)
		if o[m[1]][m[2]] != nil { // a domain
			return text
		}
		domain, name, ok := strings.Cut(m[2], "/")
		if !ok {
			name = m[2]
			var domains []string
			for d, names := range o[m[1]] {
				if names[name] != nil {
					domains = append(domains, d)
				}
			}
			if len(domains) != 1 {
				return text
			}
			domain = domains[0]
		}
		return "device." + m[1] + `["` + domain + `"].` + name
	})
	out = amountCompared.ReplaceAllString(out, "$1.compareTo($3) $2 0")
	return fieldRead.ReplaceAllStringFunc(out, func(text string) string {
		m := fieldRead.FindStringSubmatch(text)
		of := o[m[1]]
		domain, ok := likest(m[2], of)
		if !ok {
			return text
		}
		name, ok := likest(m[3], of[domain])
		if !ok {
			return text
		}
		value, ok := likest(m[4], of[domain][name])
		if !ok {
			value = m[4]
		}
		out := strings.Replace(text, `["`+m[2]+`"].`+m[3], `["`+domain+`"].`+name, 1)
		if literal := `"` + m[4] + `"`; strings.HasSuffix(out, literal) {
			out = strings.TrimSuffix(out, literal) + `"` + value + `"`
		}
		return out
	})
}

// likest returns a name if it is among known, or else the one of these that looks most alike.
func likest[T any](name string, known map[string]T) (string, bool) {
	if _, ok := known[name]; ok {
		return name, true
	}
	return near.Meant(name, slices.Collect(maps.Keys(known)))
}

// selectorMends returns the changes of a claim that write what its selectors most likely mean.
func selectorMends(o offers, c *resourcev1.ResourceClaim) (out []*Change) {
	for k, r := range requestsOf(c) {
		for i, s := range r.selectors {
			if s.CEL == nil {
				continue
			}
			to := o.meant(s.CEL.Expression)
			if to == s.CEL.Expression {
				continue
			}
			x := onClaim(c, Mend, selectorPath(r.path, i), s.CEL.Expression, func(x *resourcev1.ResourceClaim, _ int64) {
				requestsOf(x)[k].selectors[i].CEL.Expression = to
			})
			x.To = to
			out = append(out, x)
		}
	}
	return out
}
