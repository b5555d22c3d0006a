//! The ends that a domain without a scheme may have, so that `node.js` is no
//! link. Those of countries, and the ones that most other domains have; a link
//! with its scheme may have any.

/// Two letters: countries and territories.
const COUNTRIES: &str = "
    ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc
    cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb
    gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke
    kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu
    mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw
    sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua
    ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";

/// The others, as far as people write them without a scheme.
const OTHERS: &str = "
    academy aero agency app art asia audio bar berlin best bike bio biz black blog blue bot build business cafe camp
    capital care cash cat center chat church city click cloud club codes coffee college com community company computer
    cool coop date deals design dev digital direct directory dog domains download earth edu education email energy
    engineer events exchange expert express family fan fans farm finance fish fit fitness foundation fun fund gallery
    game games garden gay gift global gold gov green group guide guru health help hiphop host hosting house how icu
    inc info ink institute int international investments jobs kim kitchen land law legal life limited link live lol
    london love ltd market marketing media men menu mil mobi moe mom money monster museum music name net network news
    ngo ninja nyc observer one ong online org page paris parts party pet photo photography photos pics pictures pink
    pizza plus porn post press pro productions properties pub radio realty recipes red rent repair report rest
    restaurant review reviews rip rocks run sale school science security services sexy shoes shop shopping show site
    ski social software solar solutions space sport store stream studio style supply support surf systems tax team
    tech technology tel theater tickets tips today tokyo tools top tours town toys trade training travel tube
    university uno vacations ventures video vip vision vote voyage wang watch website wedding wiki win wine work works
    world wtf xxx xyz yoga zone";

/// Whether a name ends as domains do.
pub(super) fn is_known(host: &str) -> bool {
    let Some((below, top)) = host.rsplit_once('.') else { return false };
    let top = top.to_ascii_lowercase();
    // Written in another script they are long, and nobody else's ends.
    let is_known = top.starts_with("xn--")
        || [COUNTRIES, OTHERS].iter().any(|list| list.split_ascii_whitespace().any(|it| it == top));
    is_known && !below.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_is_listed_once() {
        let mut all: Vec<&str> = [COUNTRIES, OTHERS].iter().flat_map(|it| it.split_ascii_whitespace()).collect();
        let listed = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), listed);
    }
}
