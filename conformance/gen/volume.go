package gen

import v1 "k8s.io/api/core/v1"

func (g *generator) volumes()        {}
func (g *generator) csiNodes()       {}
func (g *generator) mount(p *v1.Pod) {}
