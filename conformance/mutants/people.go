package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// The operators of mistakes that people make.
const (
	sibling   = "sibling"   // another field or variable of the same type and kind: requests for limits, old for new
	share     = "share"     // what was copied is shared
	component = "component" // a part of a struct, such as a key, stays empty
	early     = "early"     // the function ends before its next effect
	arm       = "arm"       // an arm of a switch is forgotten
	lock      = "lock"      // a mutex is not locked; tried alone, because its tests run with the race detector
)

// pairs are fields of API objects and names of variables that people take for each other.
var pairs = [][2]string{
	{"HostPort", "ContainerPort"}, {"Requests", "Limits"}, {"Labels", "Annotations"}, {"Name", "GenerateName"}, {"Name", "Namespace"},
	{"Key", "Value"}, {"Allocatable", "Capacity"}, {"Containers", "InitContainers"}, {"CurrentHealthy", "DesiredHealthy"},
	{"MinAvailable", "MaxUnavailable"}, {"DeletionTimestamp", "CreationTimestamp"}, {"MatchLabelKeys", "MismatchLabelKeys"},
	{"old", "new"}, {"before", "after"}, {"from", "to"}, {"was", "is"}, {"lo", "hi"}, {"first", "last"},
}

// partners returns the names that people take for a name.
func partners(name string) (out []string) {
	for _, p := range pairs {
		switch name {
		case p[0]:
			out = append(out, p[1])
		case p[1]:
			out = append(out, p[0])
		}
	}
	return out
}

// keep marks the expressions of a statement that must stay what they are, because something is written there.
func (x *finder) keep(list ...ast.Expr) {
	for _, e := range list {
		if e != nil {
			x.fixed[ast.Unparen(e)] = true
		}
	}
}

// field takes a sibling of a field: its partner, or in a struct of the package the next field of the same type.
func (x *finder) field(e *ast.SelectorExpr) {
	s := x.info.Selections[e]
	if s == nil || s.Kind() != types.FieldVal || x.fixed[e] || !x.pure(e) {
		return
	}
	names := partners(e.Sel.Name)
	if own, ok := under(s.Recv()).(*types.Struct); ok && len(names) == 0 && s.Obj().Pkg() == x.pkg {
		names = after(own, s.Obj())
	}
	for _, name := range names {
		if o, _, _ := types.LookupFieldOrMethod(s.Recv(), true, x.pkg, name); same(o, s.Obj()) {
			x.pick(e, sibling, x.text(e.X)+"."+name)
			return
		}
	}
}

// under returns the type behind a pointer and a name.
func under(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying()
}

// after returns the first field behind a field that has its type.
func after(s *types.Struct, field types.Object) []string {
	found := false
	for k := range s.NumFields() {
		f := s.Field(k)
		if found && types.Identical(f.Type(), field.Type()) {
			return []string{f.Name()}
		}
		found = found || f == field
	}
	return nil
}

// same reports whether an object is a variable of the type of another.
func same(o, other types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && types.Identical(v.Type(), other.Type())
}

// variable takes the partner of a variable.
func (x *finder) variable(e *ast.Ident) {
	v, ok := x.info.Uses[e].(*types.Var)
	if !ok || v.IsField() || x.fixed[e] {
		return
	}
	for _, name := range partners(e.Name) {
		if _, o := x.pkg.Scope().Innermost(e.Pos()).LookupParent(name, e.Pos()); same(o, v) {
			x.pick(e, sibling, name)
			return
		}
	}
}

// copied shares what a call copies.
func (x *finder) copied(c *ast.CallExpr) {
	var from ast.Expr
	switch f := x.text(c.Fun); {
	case (f == "slices.Clone" || f == "maps.Clone") && len(c.Args) == 1:
		from = c.Args[0]
	default:
		s, ok := c.Fun.(*ast.SelectorExpr)
		if !ok || len(c.Args) > 0 || !slices.Contains([]string{"DeepCopy", "Clone", "Copy"}, s.Sel.Name) {
			return
		}
		from = s.X
	}
	a, b := x.info.Types[from].Type, x.info.Types[c].Type
	if a != nil && b != nil && types.Identical(a, b) && x.pure(from) {
		x.pick(c, share, x.text(from))
	}
}

// components leaves the parts of a struct empty, one at a time.
func (x *finder) components(c *ast.CompositeLit) {
	t := x.info.Types[c].Type
	if t == nil || len(c.Elts) < 2 {
		return
	}
	if _, ok := under(t).(*types.Struct); !ok {
		return
	}
	for _, e := range c.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		tv := x.info.Types[e]
		if tv.Type == nil || tv.Value != nil || tv.IsNil() || x.failure(e) {
			continue
		}
		if empty, ok := under(tv.Type).(*types.Struct); ok && empty.NumFields() == 0 {
			continue // it has no other value
		}
		typ, ok := x.typeText(tv.Type)
		if !ok {
			continue
		}
		x.add(e, component, x.text(e), "*new("+typ+")", x.edit(e, func(number int, text string) string {
			return fmt.Sprintf("mutantPick[%s](%d, *new(%s), %s)", typ, number, typ, text)
		}))
	}
}

// ends lets a function without results end before each effect but the first.
func (x *finder) ends(fn *ast.FuncDecl) {
	if fn.Type.Results != nil {
		return
	}
	effects := 0
	for _, s := range fn.Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt:
		default:
			continue
		}
		if effects++; effects > 1 {
			x.add(s, early, x.text(s), "return", x.edit(s, func(number int, text string) string {
				return fmt.Sprintf("if mutantOn(%d) { return }; %s", number, text)
			}))
		}
	}
}

// arms forgets the arms of a switch without a tag, and of one over texts.
func (x *finder) arms(s *ast.SwitchStmt) {
	for _, clause := range s.Body.List {
		list := clause.(*ast.CaseClause).List
		if len(list) != 1 {
			continue
		}
		e := list[0]
		if s.Tag == nil {
			x.add(e, arm, "case "+x.text(e), "", x.edit(e, func(number int, text string) string {
				return fmt.Sprintf("(!mutantOn(%d) && (%s))", number, text)
			}))
			continue
		}
		b, ok := under(x.info.Types[s.Tag].Type).(*types.Basic)
		typ, can := x.typeText(x.info.Types[s.Tag].Type)
		if ok && can && b.Info()&types.IsString != 0 {
			x.skip[e] = true
			x.add(e, arm, "case "+x.text(e), "", x.edit(e, func(number int, text string) string {
				return fmt.Sprintf("mutantPick[%s](%d, \"\\x00\", %s)", typ, number, text)
			}))
		}
	}
}

// locks leaves out the locking of a mutex in a function, with all its unlocks there.
func (x *finder) locks(fn *ast.FuncDecl) {
	calls := map[string][]ast.Stmt{} // by the mutex and the name of the method
	var order []string
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		var c *ast.CallExpr
		switch s := n.(type) {
		case *ast.ExprStmt:
			c, _ = s.X.(*ast.CallExpr)
		case *ast.DeferStmt:
			c = s.Call
		}
		if c == nil || len(c.Args) > 0 {
			return true
		}
		if f, ok := x.text(c.Fun), x.guards(c); ok {
			if calls[f] == nil {
				order = append(order, f)
			}
			calls[f] = append(calls[f], n.(ast.Stmt))
		}
		return true
	})
	for _, f := range order {
		mutex, is := strings.CutSuffix(f, "Lock")
		unlock := mutex + "Unlock"
		if of, read := strings.CutSuffix(mutex, ".R"); read {
			unlock = of + ".RUnlock"
		}
		if !is || calls[unlock] == nil { // locked for somebody else
			continue
		}
		var edits []edit
		for _, s := range slices.Concat(calls[f], calls[unlock]) {
			edits = append(edits, x.edit(s, func(number int, text string) string {
				return fmt.Sprintf("if !mutantOn(%d) { %s }", number, text)
			}))
		}
		x.add(calls[f][0], lock, f+"()", "", edits...)
	}
}

// guards reports whether a call is a method of a mutex.
func (x *finder) guards(c *ast.CallExpr) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := x.info.Uses[s.Sel].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "sync"
}
